import assert from "node:assert/strict";
import { test } from "node:test";
import { escaped, SvgPaper } from "../src/widgets/svg.ts";

const paper = () => new SvgPaper((_, text) => text.length * 6);

test("text is text, whatever it is", () => {
  assert.equal(escaped('<script>"&"</script>\u0000\ud800'), "&lt;script&gt;&quot;&amp;&quot;&lt;/script&gt;\ufffd\ufffd");
  const on = paper();
  on.font = "600 12px sans-serif";
  on.fillText("<b>&", 1, 2);
  const svg = on.svg(100, 50, "</title><x>", "#fff");
  assert.ok(svg.includes(">&lt;b&gt;&amp;</text>") && svg.includes("&lt;/title&gt;&lt;x&gt;"), svg);
  assert.ok(svg.includes('font-weight="600"') && svg.includes('font-size="12"'));
});

test("what is moved, zoomed and cut out lies where a canvas has it", () => {
  const on = paper();
  on.save();
  on.translate(10, 20);
  on.scale(2, 2);
  on.beginPath();
  on.rect(0, 0, 5, 5);
  on.clip();
  on.fillRect(1, 1, 3, 4);
  on.restore();
  on.fillRect(1, 1, 3, 4);
  const svg = on.svg(100, 50, "", "#fff");
  assert.ok(svg.includes('<clipPath id="c1"><path d="M10 20L20 20L20 30L10 30Z"/></clipPath>'), svg);
  assert.ok(svg.includes('<g clip-path="url(#c1)">\n<rect x="12" y="22" width="6" height="8" fill="#000"/>\n</g>\n<rect x="1" y="1" width="3" height="4" fill="#000"/>'), svg);
});
