// Runs in a page in the browser and returns its accessibility problems. The file is one function expression; its
// parameter is the required contrast.
(wanted) => {
  const problems = [];
  const check = (isGood, problem) => void (isGood || problems.push(problem));
  check(document.documentElement.lang === "en", "no language");
  check(document.title.trim() !== "", "no title");
  check(document.querySelectorAll("h1").length === 1, "not one main heading");
  check(document.querySelectorAll("main").length === 1, "no main part");
  const viewport = document.querySelector("meta[name=viewport]")?.getAttribute("content") ?? "maximum-scale";
  check(!/maximum-scale|user-scalable/.test(viewport), "zoom is kept from people");
  check(
    document.querySelectorAll("script:not([src='/oauth/passkey.js']:empty), style, [style], iframe, object, embed").length === 0,
    "scripts, styles or frames inside",
  );
  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea")) {
    const texts = [...(field.labels ?? [])].map((label) => label.textContent.trim());
    check(texts.length === 1 && texts[0] !== "", `no label: ${field.name || field.id}`);
    const described = (field.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);
    for (const id of described) check(document.getElementById(id) !== null, `no #${id}`);
  }
  for (const act of document.querySelectorAll("button, a")) check(act.textContent.trim() !== "", "a button or link without text");
  const levels = [...document.querySelectorAll("h1, h2, h3")].map((heading) => Number(heading.tagName[1]));
  check(
    levels.every((level, index) => index === 0 || level <= levels[index - 1] + 1),
    "a level of headings is left out",
  );
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  check(new Set(ids).size === ids.length, "an id twice");

  const channels = (color) => (color.match(/[\d.]+/g) ?? []).map(Number);
  // WCAG 2.2, relative luminance.
  const luminance = (color) => {
    const [red, green, blue] = channels(color)
      .slice(0, 3)
      .map((channel) => channel / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const backgroundOf = (element) => {
    if (element === null) return "rgb(255, 255, 255)";
    const { backgroundColor } = getComputedStyle(element);
    return channels(backgroundColor)[3] === 0 ? backgroundOf(element.parentElement) : backgroundColor;
  };
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    if (!hasText && !element.matches("input:not([type=hidden]), textarea")) continue;
    const [light, dark] = [getComputedStyle(element).color, backgroundOf(element)].map(luminance).sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    check(ratio >= wanted, `contrast ${ratio.toFixed(1)} of ${element.tagName}: ${element.textContent.slice(0, 40)}`);
  }
  return problems;
};
