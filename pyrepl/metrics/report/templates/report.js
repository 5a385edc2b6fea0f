"use strict";
(function () {
  var specs = JSON.parse(document.getElementById("specs").textContent);
  var NARROW = 560, ROOM = 26, BAND = 0.3;

  // On a narrow screen the names of lanes stand above the lanes: beside them they would take all the room.
  function namesAbove(spec) {
    var field = spec.usermeta.lane, lanes = spec.usermeta.lanes;
    var step = spec.height.step = spec.height.step + ROOM;
    function above(encoding) {
      if (encoding && encoding.y && encoding.y.field === field) {
        encoding.y.axis = { labels: false, ticks: false, domain: false, grid: false };
      }
    }
    above(spec.encoding);
    spec.layer.forEach(function (layer) {
      above(layer.encoding);
      if (layer.mark.height) layer.mark.height = { band: BAND };
      if (layer.mark.type === "point") layer.mark.yOffset = -step * BAND / 2 - 2;
    });
    spec.layer.push({
      data: { values: lanes.map(function (name) { var named = {}; named[field] = name; return named; }) },
      mark: { type: "text", align: "left", baseline: "middle", x: 0, yOffset: 7 - step / 2, fontSize: 11 },
      encoding: {
        x: { value: 0 },
        // The field that the bars have: of two fields Vega-Lite would put the lanes in the order of the alphabet.
        y: { field: field, type: "nominal", sort: lanes, axis: null },
        text: { field: field },
        color: { value: "var(--text)" }
      }
    });
  }

  // Paper cannot be unfolded: what is folded on the screen is printed, but for the SQL.
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details:not(.sql)").forEach(function (folded) { folded.open = true; });
  });

  Object.keys(specs).forEach(function (name) {
    var place = document.getElementById("chart-" + name);
    if (place) {
      var spec = specs[name];
      // A legend does not fold by itself; on a narrow screen it gets as many columns as there is room for.
      var columns = Math.floor(place.clientWidth / 190);
      if (columns < 4) spec.config.legend.columns = Math.max(1, columns);
      if (spec.usermeta && place.clientWidth < NARROW) namesAbove(spec);
      window.vegaEmbed(place, spec, { actions: false, renderer: "svg" }).catch(function (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
      });
    }
  });
})();
