// Plays a film of a drive: one square for each block, one dot for each page, a step at a time.
(() => {
  const film = JSON.parse(document.getElementById("film").textContent);
  const canvas = document.getElementById("drive"), pen = canvas.getContext("2d");
  const slider = document.getElementById("step"), told = document.getElementById("told"), sum = document.getElementById("sum");
  const perBlock = film.units, blocks = film.blocks.length;
  const side = Math.ceil(Math.sqrt(perBlock)), dot = Math.max(2, Math.min(6, Math.floor(32 / side))), gap = 6;
  const square = side * dot, across = Math.max(1, Math.floor(880 / (square + gap))), down = Math.ceil(blocks / across);
  const scale = window.devicePixelRatio || 1;
  const width = across * (square + gap), height = down * (square + gap);
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.maxWidth = width + "px";
  canvas.style.width = "100%";
  pen.scale(scale, scale);
  const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The state after a step is that of the beginning with all changes up to it.
  function after(step) {
    const pages = Array.from(film.pages, Number), of = film.blocks.map(block => block.slice());
    let before = null;
    for (let at = 0; at < step; at++) {
      const frame = film.frames[at];
      if (at === step - 1) before = pages.slice();
      for (let i = 0; i < frame.p.length; i += 2) pages[frame.p[i]] = frame.p[i + 1];
      for (let i = 0; i < frame.b.length; i += 3) of[frame.b[i]] = [frame.b[i + 1], frame.b[i + 2]];
    }
    return { pages, of, before };
  }

  function draw(step) {
    const { pages, of, before } = after(step), frame = film.frames[step - 1];
    const victims = new Set(frame ? frame.v : []);
    const [ink, soft, rule, data, fresh, dead] =
      ["--ink", "--soft", "--rule", "--film-data", "--film-new", "--film-dead"].map(color);
    pen.clearRect(0, 0, width, height);
    for (let block = 0; block < blocks; block++) {
      const left = (block % across) * (square + gap) + gap / 2, top = Math.floor(block / across) * (square + gap) + gap / 2;
      for (let page = 0; page < perBlock; page++) {
        const unit = block * perBlock + page, is = pages[unit];
        if (!is) continue;
        pen.fillStyle = is === 2 ? dead : before && before[unit] !== 1 ? fresh : data;
        pen.fillRect(left + (page % side) * dot, top + Math.floor(page / side) * dot, dot - 0.5, dot - 0.5);
      }
      const state = of[block][0];
      pen.lineWidth = victims.has(block) ? 3 : 1;
      pen.strokeStyle = victims.has(block) ? ink : state === 1 ? soft : rule;
      pen.setLineDash(state === 0 ? [2, 2] : []);
      pen.strokeRect(left - 1.5, top - 1.5, square + 3, square + 3);
    }
    pen.setLineDash([]);
    told.textContent = frame ? frame.t : film.begin;
    sum.textContent = frame
      ? `step ${step} of ${film.frames.length}: ${frame.w} pages written by the host, write amplification ${frame.a.toFixed(2)}, ${frame.f} blocks free`
      : `before the first of ${film.frames.length} steps`;
    slider.setAttribute("aria-valuetext", `${sum.textContent}. ${told.textContent}`);
  }

  slider.max = film.frames.length;
  slider.addEventListener("input", () => draw(Number(slider.value)));
  const go = to => {
    slider.value = Math.max(0, Math.min(film.frames.length, to));
    draw(Number(slider.value));
  };
  const next = (from, by) => {
    for (let at = from + by; at > 0 && at <= film.frames.length; at += by) if (film.frames[at - 1].v.length) return at;
    return by > 0 ? film.frames.length : 0;
  };
  document.getElementById("back").addEventListener("click", () => go(Number(slider.value) - 1));
  document.getElementById("on").addEventListener("click", () => go(Number(slider.value) + 1));
  document.getElementById("victim").addEventListener("click", () => go(next(Number(slider.value), 1)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(Number(slider.value)));
  draw(0);
})();
