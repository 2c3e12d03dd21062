// Laid out by a browser: is text clipped, does it lie over other text, does the page scroll sideways, does the script work?
(() => {
  "use strict";
  const shown = (element) => element.getClientRects().length > 0;
  const words = (element) => `"${element.textContent.trim().slice(0, 40)}"`;
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  for (const picture of document.querySelectorAll("svg.chart")) {
    if (!shown(picture)) continue;
    const frame = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].map((text) => [text, text.getBoundingClientRect()]);
    texts.forEach(([text, place], index) => {
      if (place.left < frame.left - 1 || place.right > frame.right + 1) faults.push(`${words(text)} is clipped in ${picture.dataset.chart}`);
      for (const [other, its] of texts.slice(0, index)) {
        const across = Math.min(place.right, its.right) - Math.max(place.left, its.left);
        const down = Math.min(place.bottom, its.bottom) - Math.max(place.top, its.top);
        if (across > 1 && down > 5) faults.push(`${words(text)} lies over ${words(other)} in ${picture.dataset.chart}`);
      }
    });
  }
  for (const element of document.querySelectorAll("h1, h2, p, li, figcaption, dt, dd, summary, .cards th, .cards td")) {
    if (shown(element) && element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0) faults.push(`${words(element)} is clipped`);
  }
  // Values under the pointer, and a series that hides.
  const charts = ["svg[data-chart]", "g[data-chart]"].map((kind) => [...document.querySelectorAll(kind)].find(shown));
  for (const picture of charts.filter(Boolean)) {
    const box = picture.closest(".drawing");
    const [left, top, right, bottom] = picture.dataset.frame.split(" ").map(Number);
    const at = new DOMPoint((left + right) / 2, (top + bottom) / 2).matrixTransform(picture.getScreenCTM());
    const send = (kind, x) => picture.dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: at.y, bubbles: true, pointerId: 1 }));
    send("pointermove", at.x);
    const tip = [...box.querySelectorAll(".tip")].find((one) => !one.hidden);
    if (picture.querySelector(".curve, .bars") && !(tip && tip.textContent)) faults.push("the pointer shows no values");
    const named = box.querySelector("svg .named");
    if (named) {
      named.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      if (!named.classList.contains("off")) faults.push("a click on a name hides nothing");
      named.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    }
    for (const button of box.querySelectorAll(".tools button")) {
      const before = picture.innerHTML;
      button.click();
      if (!button.hidden && picture.innerHTML === before) faults.push(`${words(button)} changes nothing`);
    }
  }
  const found = document.createElement("pre");
  found.id = "found";
  found.textContent = faults.join("\n");
  document.body.append(found);
})();
