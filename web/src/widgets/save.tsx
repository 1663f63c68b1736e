// Saving: what is at hand, or an answer, as a file.
import type { ComponentChildren } from "preact";
import { ask } from "../api/client.ts";
import { isReport } from "../api/report.ts";

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function saveAnswer(url: string, name: string | undefined): Promise<void> {
  const response = await ask(url);
  const [, told] = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  saveBlob(await response.blob(), name ?? told ?? "unspool");
}

/** A link that saves an answer. In a report there is nobody to follow it, so it is asked for here. */
export function Save({ url, name, failed, title, children }: { url: string; name?: string; failed(error: unknown): void; title?: string; children: ComponentChildren }) {
  if (!isReport) return <a class="small" href={url} download={name ?? true} title={title}>{children}</a>;
  return <button class="link small" title={title} onClick={() => void saveAnswer(url, name).catch(failed)}>{children}</button>;
}

/** A link that shows an answer in a tab of its own; in a report it is saved instead. */
export function Open({ url, name, failed, title, children }: { url: string; name: string; failed(error: unknown): void; title?: string; children: ComponentChildren }) {
  if (isReport) return <Save url={url} name={name} failed={failed}>{children}</Save>;
  return <a class="small" href={url} target="_blank" rel="noopener" title={title}>{children}</a>;
}
