// In: what is drawn on a canvas, call by call. Out: the same as SVG. One drawing code, two outputs.
import type { Paper } from "./paint.ts";

const ESCAPED: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
/** What XML cannot hold stands as a mark that something was there. */
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function escaped(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"]/g, (letter) => ESCAPED[letter] ?? letter);
}

interface State {
  fillStyle: Paper["fillStyle"];
  strokeStyle: Paper["strokeStyle"];
  globalAlpha: number;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: number[];
  x: number;
  y: number;
  zoom: number;
  clip: number;
}

const FIRST: State = { fillStyle: "#000", strokeStyle: "#000", globalAlpha: 1, lineWidth: 1, lineJoin: "miter", font: "10px sans-serif", textAlign: "left", textBaseline: "alphabetic", dash: [], x: 0, y: 0, zoom: 1, clip: 0 };
const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };
const BASELINES: Partial<Record<CanvasTextBaseline, string>> = { middle: "central", top: "hanging", hanging: "hanging" };
const round = (n: number) => String(Math.round(n * 100) / 100);

type Measure = (font: string, text: string) => number;

export class SvgPaper implements Paper {
  private state: State = { ...FIRST };
  private readonly states: State[] = [];
  private readonly measure: Measure;
  private path = "";
  private readonly clips: string[] = [];
  private readonly parts: string[] = [];
  private shownClip = 0;

  constructor(measure: Measure) {
    this.measure = measure;
  }

  get fillStyle() { return this.state.fillStyle; }
  set fillStyle(value) { this.state.fillStyle = value; }
  get strokeStyle() { return this.state.strokeStyle; }
  set strokeStyle(value) { this.state.strokeStyle = value; }
  get globalAlpha() { return this.state.globalAlpha; }
  set globalAlpha(value) { this.state.globalAlpha = value; }
  get lineWidth() { return this.state.lineWidth; }
  set lineWidth(value) { this.state.lineWidth = value; }
  get lineJoin() { return this.state.lineJoin; }
  set lineJoin(value) { this.state.lineJoin = value; }
  get font() { return this.state.font; }
  set font(value) { this.state.font = value; }
  get textAlign() { return this.state.textAlign; }
  set textAlign(value) { this.state.textAlign = value; }
  get textBaseline() { return this.state.textBaseline; }
  set textBaseline(value) { this.state.textBaseline = value; }

  save(): void {
    this.states.push({ ...this.state });
  }

  restore(): void {
    this.state = this.states.pop() ?? this.state;
  }

  translate(x: number, y: number): void {
    this.state.x += x * this.state.zoom;
    this.state.y += y * this.state.zoom;
  }

  scale(x: number): void {
    this.state.zoom *= x;
  }

  beginPath(): void {
    this.path = "";
  }

  private at(x: number, y: number): string {
    return `${round(this.state.x + x * this.state.zoom)} ${round(this.state.y + y * this.state.zoom)}`;
  }

  moveTo(x: number, y: number): void {
    this.path += `M${this.at(x, y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${this.at(x, y)}`;
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.path += `C${this.at(ax, ay)} ${this.at(bx, by)} ${this.at(x, y)}`;
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${this.at(x, y)}L${this.at(x + width, y)}L${this.at(x + width, y + height)}L${this.at(x, y + height)}Z`;
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const corner = round(radius * this.state.zoom);
    const to = (cx: number, cy: number) => `A${corner} ${corner} 0 0 1 ${this.at(cx, cy)}`;
    const [right, bottom] = [x + width, y + height];
    this.path += `M${this.at(x + radius, y)}L${this.at(right - radius, y)}${to(right, y + radius)}L${this.at(right, bottom - radius)}${to(right - radius, bottom)}L${this.at(x + radius, bottom)}${to(x, bottom - radius)}L${this.at(x, y + radius)}${to(x + radius, y)}Z`;
  }

  clip(): void {
    const inside = this.state.clip === 0 ? "" : ` clip-path="url(#c${this.state.clip})"`;
    this.clips.push(`<clipPath id="c${this.clips.length + 1}"><path${inside} d="${this.path}"/></clipPath>`);
    this.state.clip = this.clips.length;
  }

  private put(element: string): void {
    const { clip } = this.state;
    if (clip !== this.shownClip) {
      if (this.shownClip !== 0) this.parts.push("</g>");
      if (clip !== 0) this.parts.push(`<g clip-path="url(#c${clip})">`);
      this.shownClip = clip;
    }
    this.parts.push(element);
  }

  private filled(): string {
    return `fill="${escaped(String(this.state.fillStyle))}"${this.alpha()}`;
  }

  private stroked(): string {
    const { strokeStyle, lineWidth, lineJoin, dash, zoom } = this.state;
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.map((n) => round(n * zoom)).join(" ")}"` : "";
    const join = lineJoin === "miter" ? "" : ` stroke-linejoin="${lineJoin}"`;
    return `fill="none" stroke="${escaped(String(strokeStyle))}" stroke-width="${round(lineWidth * zoom)}"${dashes}${join}${this.alpha()}`;
  }

  private alpha(): string {
    return this.state.globalAlpha === 1 ? "" : ` opacity="${round(this.state.globalAlpha)}"`;
  }

  fill(): void {
    if (this.path !== "") this.put(`<path ${this.filled()} d="${this.path}"/>`);
  }

  stroke(): void {
    if (this.path !== "") this.put(`<path ${this.stroked()} d="${this.path}"/>`);
  }

  private box(x: number, y: number, width: number, height: number): string {
    const { x: left, y: top, zoom } = this.state;
    return `x="${round(left + x * zoom)}" y="${round(top + y * zoom)}" width="${round(Math.max(0, width * zoom))}" height="${round(Math.max(0, height * zoom))}"`;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.put(`<rect ${this.box(x, y, width, height)} ${this.filled()}/>`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.put(`<rect ${this.box(x, y, width, height)} ${this.stroked()}/>`);
  }

  private text(text: string, x: number, y: number, how: string, most?: number): void {
    if (text === "") return;
    const { font, textAlign, textBaseline, zoom } = this.state;
    const [, weight, size, family] = /^(?:(\S+) )?([\d.]+)px (.+)$/.exec(font) ?? [];
    const [left, top] = this.at(x, y).split(" ");
    const anchor = ANCHORS[textAlign] ? ` text-anchor="${ANCHORS[textAlign]}"` : "";
    const baseline = BASELINES[textBaseline] ? ` dominant-baseline="${BASELINES[textBaseline]}"` : "";
    const isWide = most !== undefined && this.measure(font, text) > most;
    const narrow = isWide ? ` textLength="${round(most * zoom)}" lengthAdjust="spacingAndGlyphs"` : "";
    this.put(`<text x="${left}" y="${top}" font-family="${escaped(family ?? "sans-serif")}" font-size="${round(Number(size ?? 10) * zoom)}"${weight ? ` font-weight="${escaped(weight)}"` : ""}${anchor}${baseline}${narrow} ${how} xml:space="preserve">${escaped(text)}</text>`);
  }

  fillText(text: string, x: number, y: number, most?: number): void {
    this.text(text, x, y, this.filled(), most);
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(text, x, y, this.stroked());
  }

  measureText(text: string): { width: number } {
    return { width: this.measure(this.state.font, text) };
  }

  setLineDash(dash: number[]): void {
    this.state.dash = dash;
  }

  drawImage(image: HTMLCanvasElement, x: number, y: number, width: number, height: number): void {
    this.put(`<image ${this.box(x, y, width, height)} preserveAspectRatio="none" href="${image.toDataURL()}"${this.alpha()}/>`);
  }

  /** The whole drawing. */
  svg(width: number, height: number, title: string, background: string): string {
    const end = this.shownClip === 0 ? "" : "</g>";
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}" role="img"><title>${escaped(title)}</title>`;
    return `${head}<defs>${this.clips.join("")}</defs><rect width="100%" height="100%" fill="${escaped(background)}"/>\n${this.parts.join("\n")}${end}</svg>\n`;
  }
}
