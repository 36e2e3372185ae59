// It starts the page, or names what the browser lacks for it. It says so too if a file of the page did not
// arrive or the page stops at an error of its own. It is one classic script in the JavaScript of any browser,
// and has its own words, because nothing else may run.
(function () {
  "use strict";

  // What the page cannot do without, and has no other way to do.
  var needed = [
    "JSON.parse", "Promise", "Symbol.iterator", "Map", "Set", "Object.entries", "Object.fromEntries", "Array.prototype.flatMap",
    "String.prototype.padStart", "Element.prototype.append", "Element.prototype.remove", "Element.prototype.replaceChildren",
    "fetch", "Headers", "AbortController", "URLSearchParams", "crypto.getRandomValues", "performance.now",
  ];

  function has(path) {
    var at = window;
    try {
      path.split(".").forEach(function (name) { at = at[name]; });
    } catch (e) {
      return false;
    }
    return at !== undefined && at !== null;
  }

  function line(language, text) {
    var p = document.createElement("p");
    p.lang = language;
    p.className = "failed";
    p.appendChild(document.createTextNode(text));
    document.getElementById("failed").appendChild(p);
  }

  var said = false;

  // tell shows the first trouble: what follows is its consequence. A page that has not started would wait for ever.
  function tell(en, zh) {
    if (said) return;
    said = true;
    var parts = document.querySelectorAll(document.documentElement.hasAttribute("data-started") ? "#none" : "#views, .tools, #main");
    for (var i = 0; i < parts.length; i++) parts[i].style.display = "none";
    line("en", en);
    line("zh-Hans", zh);
  }

  function lacks(what) {
    tell("This browser lacks what this page needs: " + what + ". Use a newer browser.",
      "此浏览器缺少本页所需的功能：" + what + "。请使用较新的浏览器。");
  }

  function stopped(error) {
    tell("This page stopped at an error of its own: " + error + ". Load the page again, or use another browser.",
      "本页因自身错误停止：" + error + "。请刷新页面，或使用其他浏览器。");
  }

  // ours reports whether an address is of a script that the page needs: the chart is drawn or not.
  function ours(address) {
    return address.indexOf(location.protocol + "//" + location.host + "/") === 0 && address.indexOf("/uplot.js") < 0;
  }

  window.addEventListener("error", function (e) {
    var from = e.target;
    if (from && from.tagName === "SCRIPT") {
      if (ours(from.src)) {
        tell("A file of this page did not arrive: " + from.src + ". Load the page again.",
          "本页的文件未能加载：" + from.src + "。请刷新页面。");
      }
      return;
    }
    if (!e.message || !ours(e.filename || "")) return;
    if (/SyntaxError/.test(e.message)) lacks("JavaScript ES2021 (" + e.message + ")");
    else stopped(e.message);
  }, true);
  window.addEventListener("unhandledrejection", function (e) { stopped(String(e.reason)); });

  var missing = needed.filter(function (path) { return !has(path); });
  var script = document.createElement("script");
  if (!("noModule" in script)) missing.push("ES modules");
  if (missing.length) {
    return lacks(missing.join(", "));
  }
  script.type = "module";
  script.src = "app.js";
  document.body.appendChild(script);
  var chart = document.createElement("script");
  chart.src = "uplot.js";
  document.body.appendChild(chart);
})();
