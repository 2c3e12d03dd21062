// Charts that answer the pointer: values under it, names that hide what they name, zoom by dragging, log and linear. Tables
// that sort. The page is complete without it: everything it draws was there before, and comes back with a double click.
(() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const all = (within, selector) => [...within.querySelectorAll(selector)];
  const made = (name, set = {}, within = null) => {
    const element = name === "path" || name === "text" ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(set)) element.setAttribute(key, value);
    if (within) within.append(element);
    return element;
  };
  // Numbers as the page writes them.
  const grouped = (value, decimals) => value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  const short = (value) => {
    const size = Math.abs(value);
    if (size !== 0 && size < 1e-3) return value.toExponential(2);
    return grouped(value, Number.isInteger(value) || size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.1 ? 2 : 3);
  };
  const duration = (ns) => {
    const [unit, sign] = [[1, "ns"], [1e3, "\u00b5s"], [1e6, "ms"], [1e9, "s"]].find(([unit]) => Math.abs(ns) < 999.5 * unit) || [1e9, "s"];
    return `${short(Number((ns / unit).toPrecision(12)))}\u00a0${sign}`;
  };
  const told = (axis, value) => {
    if (axis.names.length) {
      // A place in the tail, or the nearest name.
      if (axis.format === "d") return `${(100 - 100 * 10 ** -value).toPrecision(Math.max(2, Math.ceil(value) + 1))}\u00a0%`;
      return axis.names.reduce((best, name) => (Math.abs(name[0] - value) < Math.abs(best[0] - value) ? name : best))[1];
    }
    return axis.format === "t" ? duration(value) : short(value) + axis.unit;
  };
  // Axes.
  const place = (axis, value) => axis.scale === "r"
    ? Math.log(Math.max(value, 1e-300) / axis.min) / Math.log(axis.max / axis.min)
    : (value - axis.min) / (axis.max - axis.min);
  const value = (axis, share) => axis.scale === "r" ? axis.min * (axis.max / axis.min) ** share : axis.min + share * (axis.max - axis.min);
  const step = (raw) => {
    const power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 5, 10].find((nice) => raw <= nice * power * (1 + 1e-9));
  };
  const ticks = (axis, wanted) => {
    if (axis.names.length) return axis.names.filter(([at]) => at >= axis.min && at <= axis.max);
    const found = [];
    if (axis.scale === "r") {
      const decades = Math.log10(axis.max / axis.min);
      const leads = decades < 1.5 ? [1, 2, 3, 5, 7] : decades < 3.5 ? [1, 2, 5] : [1];
      for (let power = Math.floor(Math.log10(axis.min)); power <= Math.log10(axis.max) + 1e-9; power += Math.ceil(decades / 9)) {
        for (const lead of leads) found.push(lead * 10 ** power);
      }
      return found.filter((at) => at >= axis.min * 0.999 && at <= axis.max * 1.001).map((at) => [at, told(axis, Number(at.toPrecision(3)))]);
    }
    const every = step((axis.max - axis.min) / wanted);
    const decimals = Math.max(0, -Math.floor(Math.log10(every) + 1e-9));
    const text = (at) => axis.format === "t" ? duration(at) : grouped(at, decimals) + axis.unit;
    for (let at = Math.ceil(axis.min / every - 1e-9); at <= axis.max / every + 1e-9; at++) found.push([at * every || 0, text(at * every || 0)]);
    return found;
  };
  // The values of a layer between two places, as pairs of x and y.
  const pairs = (flat) => flat.reduce((list, at, index) => (index % 2 ? list[list.length - 1].push(at) : list.push([at]), list), []);
  const between = (points, low, high, steps) => {
    const kept = [];
    points.forEach(([x, y], index) => {
      const [x0, y0] = points[index - 1] || [x, y];
      const cut = (at) => [at, steps || x === x0 ? y0 : y0 + ((y - y0) * (at - x0)) / (x - x0)];
      if (x0 < low && x > low) kept.push(cut(low));
      if (x0 < high && x > high) kept.push(cut(high));
      if (x >= low && x <= high) kept.push([x, y]);
    });
    return kept;
  };
  const at = (points, x, steps) => {
    if (!points.length || x < points[0][0] || x > points[points.length - 1][0]) return null;
    const after = points.findIndex((point) => point[0] >= x);
    const [x1, y1] = points[after];
    const [x0, y0] = points[Math.max(after - 1, 0)];
    return x1 === x0 || x === x1 ? y1 : steps ? y0 : y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  };

  const hidden = new Set();
  const show = () => all(document, "[data-s]").forEach((one) => one.classList.toggle("off", hidden.has(one.dataset.s)));

  // Charts of one box have the same axes: what zooms one zooms all.
  const views = new Map();
  for (const source of all(document, "script[data-of]")) {
    const data = JSON.parse(source.textContent);
    const box = source.parentElement;
    const isFirst = !views.has(box);
    if (isFirst) views.set(box, { x: [data.x.min, data.x.max], turned: false, curves: [], redraw: [] });
    const view = views.get(box);
    const layers = Object.entries(data.layers).map(([index, layer]) => ({
      ...layer, index, points: layer.kind === "bars" || layer.kind === "whiskers" ? layer.points : pairs(layer.points),
      low: layer.low ? pairs(layer.low) : [],
    }));
    const curves = layers.filter((layer) => (layer.kind === "curve" || layer.kind === "steps") && layer.points.length > 1);
    view.curves.push(...curves);
    const pictures = all(box, `[data-chart="${source.dataset.of}"]`).map((svg) => {
      const [left, top, right, bottom] = svg.dataset.frame.split(" ").map(Number);
      return { svg, left, top, right, bottom, before: svg.innerHTML };
    });
    const changed = () => view.turned || view.x[0] !== data.x.min || view.x[1] !== data.x.max;
    // The axes of what is shown: along as asked for, upwards as high as it needs.
    const axes = () => {
      const [min, max] = view.x;
      const x = { ...data.x, min, max };
      const y = { ...data.y };
      if (!changed() || data.y.names.length || !view.curves.length) return [x, y];
      if (view.turned) y.scale = y.scale === "r" ? "e" : "r";
      const shown = view.curves.filter((curve) => !hidden.has(curve.name) || !curve.name);
      const heights = shown.flatMap((curve) => between(curve.points, min, max, curve.kind === "steps").map((point) => point[1]));
      const seen = heights.filter((height) => y.scale !== "r" || height > 0);
      let [low, high] = [Math.min(...seen), Math.max(...seen)];
      if (!(high > low)) [low, high] = [low - 0.5 * Math.abs(low || 1), low + 0.5 * Math.abs(low || 1)];
      if (y.scale === "r") return [x, { ...y, min: low / 1.1, max: high * 1.1 }];
      if (low >= 0 && low < 0.5 * high) low = 0;
      const every = step((high - low) / 5);
      return [x, { ...y, min: Math.floor(low / every + 1e-9) * every, max: Math.ceil(high / every - 1e-9) * every }];
    };

    const redraw = () => {
      const [x, y] = axes();
      for (const picture of pictures) {
        const { svg, left, top, right, bottom } = picture;
        svg.innerHTML = picture.before;
        if (!changed()) continue;
        const px = (at) => (left + Math.min(1, Math.max(0, place(x, at))) * (right - left)).toFixed(1);
        const py = (at) => (bottom - Math.min(1, Math.max(0, place(y, at))) * (bottom - top)).toFixed(1);
        const line = (points) => points.map(([x, y], index) => `${index ? "L" : "M"}${px(x)} ${py(y)}`).join("");
        const stairs = (points) => points.flatMap((point, index) => (index ? [[point[0], points[index - 1][1]], point] : [point]));
        for (const layer of layers) {
          const path = svg.querySelector(`[data-l="${layer.index}"]`);
          if (!path) continue;
          const inside = (points, steps) => between(points, x.min, x.max, steps);
          let drawn = "";
          if (layer.kind === "curve") drawn = line(inside(layer.points));
          if (layer.kind === "steps") drawn = line(stairs(inside(layer.points, true)));
          if (layer.kind === "area") drawn = `${line(inside(layer.points))}${line(inside(layer.low).reverse()).replace("M", "L")}Z`.replace(/^L/, "M");
          if (layer.kind === "dots") drawn = inside(layer.points).map(([at, height]) => `M${px(at) - 3.5} ${py(height)}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0Z`).join("");
          for (let bar = 0; layer.kind === "bars" && bar < layer.points.length; bar += 4) {
            const [from, to, low, high] = layer.points.slice(bar, bar + 4);
            if (to > x.min && from < x.max) drawn += `M${px(from)} ${py(low)}V${py(high)}H${px(to)}V${py(low)}Z`;
          }
          for (let bar = 0; layer.kind === "whiskers" && bar < layer.points.length; bar += 3) {
            const [middle, low, high] = layer.points.slice(bar, bar + 3);
            if (middle >= x.min && middle <= x.max) drawn += `M${px(middle)} ${py(low)}V${py(high)}`;
          }
          path.setAttribute("d", drawn);
        }
        all(svg, ".end, .leader").forEach((one) => one.remove());
        for (const one of all(svg, "[data-y], [data-x]")) {
          const [height, along] = [Number(one.dataset.y), Number(one.dataset.x)];
          const inside = "y" in one.dataset ? height >= y.min && height <= y.max : along >= x.min && along <= x.max;
          if (!inside) one.remove();
          else if (one.tagName === "text") one.setAttribute("y" in one.dataset ? "y" : "x", "y" in one.dataset ? py(height) - 5 : px(along));
          else one.setAttribute("d", "y" in one.dataset ? `M${left} ${py(height)}H${right}` : `M${px(along)} ${top}V${bottom}`);
        }
        const scales = svg.querySelector(".scales");
        const bare = svg.dataset.bare || "";
        scales.replaceChildren();
        for (const [at, text] of ticks(y, 5)) {
          made("path", { class: "grid", d: `M${left} ${py(at)}H${right}` }, scales);
          if (!bare.includes("y")) made("text", { class: "tick", x: left - 7, y: Number(py(at)) + 4, "text-anchor": "end" }, scales).textContent = text;
        }
        for (const [at, text] of ticks(x, right - left > 500 ? 8 : 4)) {
          made("path", { class: "axis", d: `M${px(at)} ${bottom}v4` }, scales);
          if (!bare.includes("x")) made("text", { class: "tick", x: px(at), y: bottom + 18, "text-anchor": "middle" }, scales).textContent = text;
        }
        made("path", { class: "axis", d: `M${left} ${bottom}H${right}` }, scales);
      }
      show();
    };
    view.redraw.push(redraw);
    // Buttons.
    const tools = isFirst ? made("div", { class: "tools" }, box) : null;
    const button = (text, act) => {
      const one = made("button", { type: "button" }, tools);
      one.textContent = text;
      one.addEventListener("click", () => act(one));
      return one;
    };
    const zoom = (low, high) => {
      view.x = [low, high];
      view.whole.hidden = low === data.x.min && high === data.x.max;
      view.redraw.forEach((draw) => draw());
    };
    if (isFirst) {
      view.whole = button("whole", () => zoom(data.x.min, data.x.max));
      view.whole.hidden = true;
    }
    const positive = curves.some((curve) => curve.points.some((point) => point[1] > 0));
    if (isFirst && positive && !data.y.names.length && !layers.some((layer) => layer.kind === "bars")) {
      button(data.y.scale === "r" ? "linear" : "log", (one) => {
        view.turned = !view.turned;
        one.setAttribute("aria-pressed", view.turned);
        view.redraw.forEach((draw) => draw());
      });
    }
    // The pointer.
    const tip = made("div", { class: "tip", hidden: "" }, box);
    for (const picture of pictures) {
      const { svg, left, top, right, bottom } = picture;
      let from = null;
      const where = (event) => {
        const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        return { x: point.x, y: point.y, inside: point.x >= left && point.x <= right && point.y >= top - 10 && point.y <= bottom + 20 };
      };
      const clear = () => {
        tip.hidden = true;
        all(svg, ".rule, .zoom").forEach((one) => one.remove());
      };
      const values = (x) => {
        const [, y] = axes();
        const named = (layer) => layer.name || data.y.label;
        const found = curves.filter((curve) => !hidden.has(curve.name))
          .map((curve) => [curve, at(curve.points, x, curve.kind === "steps")]).filter(([, height]) => height !== null)
          .map(([curve, height]) => [curve, named(curve), height, told(y, height)]);
        for (const layer of layers.filter((layer) => layer.kind === "bars")) {
          for (let bar = 0; bar < layer.points.length; bar += 4) {
            const [low, high] = [layer.points[bar + 2], layer.points[bar + 3]];
            if (x >= layer.points[bar] && x < layer.points[bar + 1]) found.push([layer, named(layer), high, told(y, high - low)]);
          }
        }
        return found.sort((one, other) => other[2] - one[2]).slice(0, 16);
      };
      const point = (event) => {
        clear();
        const place = where(event);
        if (!place.inside && from === null) return;
        const [x] = axes();
        const along = Math.min(right, Math.max(left, place.x));
        if (from !== null) {
          made("path", { class: "zoom", d: `M${from} ${top}H${along}V${bottom}H${from}Z` }, svg);
          return;
        }
        let over = value(x, (along - left) / (right - left));
        if (x.names.length && x.format !== "d") {
          over = x.names.reduce((best, name) => (Math.abs(name[0] - over) < Math.abs(best - over) ? name[0] : best), x.names[0][0]);
        }
        const found = values(over);
        if (!found.length) return;
        made("path", { class: "rule", d: `M${along.toFixed(1)} ${top}V${bottom}` }, svg);
        tip.replaceChildren();
        made("b", {}, tip).textContent = `${told(x, over)} ${data.x.label}`.trim();
        for (const [layer, name, , text] of found) {
          const row = made("span", {}, tip);
          const drawn = svg.querySelector(`[data-l="${layer.index}"]`);
          made("i", { class: drawn ? drawn.getAttribute("class").replace(/\b(curve|bars)\b/, "") : "" }, row);
          made("em", {}, row).textContent = name;
          made("strong", {}, row).textContent = text;
        }
        tip.hidden = false;
        const edge = box.getBoundingClientRect();
        const wide = tip.offsetWidth;
        const x0 = event.clientX - edge.left;
        tip.style.left = `${Math.max(0, x0 + 14 + wide > edge.width ? x0 - 14 - wide : x0 + 14)}px`;
        tip.style.top = `${Math.max(0, event.clientY - edge.top + 12)}px`;
      };
      svg.addEventListener("pointermove", point);
      svg.addEventListener("pointerleave", clear);
      svg.addEventListener("pointerdown", (event) => {
        const place = where(event);
        if (!place.inside || event.pointerType === "touch" || event.button || data.x.names.length) return;
        from = place.x;
        svg.setPointerCapture(event.pointerId);
        event.preventDefault();
      });
      svg.addEventListener("pointerup", (event) => {
        if (from === null) return;
        const ends = [from, Math.min(right, Math.max(left, where(event).x))].sort((one, other) => one - other);
        const [x] = axes();
        from = null;
        clear();
        if (ends[1] - ends[0] > 8) zoom(...ends.map((end) => value(x, (end - left) / (right - left))));
      });
      svg.addEventListener("dblclick", () => zoom(data.x.min, data.x.max));
    }
  }
  document.addEventListener("click", (event) => {
    const named = event.target.closest(".named");
    if (!named) return;
    const name = named.dataset.s;
    if (!hidden.delete(name)) hidden.add(name);
    show();
  });
  document.documentElement.classList.add("js");

  // Tables sort by the column whose name is clicked.
  const UNITS = { ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
  const key = (cell) => {
    const [, digits, unit] = /^\u2265?\s*(\u2212?[\d.,]+(?:e-?\d+)?)\s*(\S*)/.exec(cell.textContent.trim()) || [];
    return digits === undefined ? null : Number(digits.replaceAll(",", "").replace("\u2212", "-")) * (UNITS[unit] || 1);
  };
  for (const table of all(document, "table")) {
    all(table, "thead th").forEach((head, column) => {
      const button = made("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        all(table, "thead th").forEach((one) => one.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = all(table, "tbody tr").map((row) => [row, key(row.cells[column]), row.cells[column].textContent]);
        const order = ([, one, text], [, other, words]) => one === null || other === null
          ? (one === null) - (other === null) || text.localeCompare(words) : one - other;
        rows.sort((one, other) => (falling ? order(other, one) : order(one, other))).forEach(([row]) => table.tBodies[0].append(row));
      });
    });
  }
})();
