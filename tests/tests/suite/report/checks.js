// Looks at the page as it is laid out, has axe check it, and writes what was found into the page.
(async () => {
  const found = {
    width: innerWidth,
    contentWidth: document.documentElement.scrollWidth,
    isDark: matchMedia("(prefers-color-scheme: dark)").matches,
    background: getComputedStyle(document.body).backgroundColor,
    overlaps: [],
    outside: [],
    small: [],
    pictures: document.querySelectorAll("svg.picture").length,
  };
  for (const picture of document.querySelectorAll("svg.picture")) {
    const title = picture.querySelector("title").textContent;
    const texts = [...picture.querySelectorAll("text:not(.mark)")]
      .map((text) => ({ text: text.textContent, box: text.getBoundingClientRect(), size: getComputedStyle(text).fontSize }))
      .filter(({ box }) => box.width > 0);
    texts.forEach(({ text, box, size }, place) => {
      if (box.left < -1 || box.right > innerWidth + 1) found.outside.push(`${title}: ${text}`);
      if (parseFloat(size) < 11) found.small.push(`${title}: ${text}`);
      for (const other of texts.slice(place + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        // Boxes have room for descenders that figures do not have.
        if (across > 1 && down > 4) found.overlaps.push(`${title}: ${text} | ${other.text}`);
      }
    });
  }
  if (window.axe) {
    const axe = await window.axe.run(document, { resultTypes: ["violations"] });
    found.violations = axe.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" ")}`);
    found.passes = axe.passes.length;
  }
  const answer = document.createElement("pre");
  answer.id = "found";
  answer.textContent = JSON.stringify(found);
  document.body.append(answer);
})();
