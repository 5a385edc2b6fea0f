"use strict";
(function () {
  var specs = JSON.parse(document.getElementById("specs").textContent);
  Object.keys(specs).forEach(function (name) {
    var place = document.getElementById("chart-" + name);
    if (place) {
      window.vegaEmbed(place, specs[name], { actions: false, renderer: "svg" }).catch(function (error) {
        place.textContent = "This chart could not be drawn: " + error.message;
      });
    }
  });
})();
