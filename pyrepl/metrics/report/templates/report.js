"use strict";
(function () {
  var specs = JSON.parse(document.getElementById("specs").textContent);
  Object.keys(specs).forEach(function (name) {
    var place = document.getElementById("chart-" + name);
    if (place) {
      // A legend does not fold by itself; on a narrow screen it gets as many columns as there is room for.
      var columns = Math.floor(place.clientWidth / 190);
      if (columns < 4) specs[name].config.legend.columns = Math.max(1, columns);
      window.vegaEmbed(place, specs[name], { actions: false, renderer: "svg" }).catch(function (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
      });
    }
  });
})();
