// Saving: what is at hand, or an answer, as a file.
import type { ComponentChildren } from "preact";
import { ask, isOnlyAsked } from "../api/client.ts";

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

/** Shows an answer in a tab of its own; where a link would lead nowhere, it is saved instead. */
export async function openAnswer(url: string, name: string): Promise<void> {
  if (isOnlyAsked()) await saveAnswer(url, name);
  else open(url, "_blank", "noopener");
}

interface Linked {
  url: string;
  failed(error: unknown): void;
  title?: string;
  class?: string;
  children: ComponentChildren;
}

/** A link that saves an answer; where it would lead nowhere, the answer is asked for here. */
export function Save({ url, name, failed, title, class: look = "small", children }: Linked & { name?: string }) {
  if (!isOnlyAsked()) return <a class={look} href={url} download={name ?? true} title={title}>{children}</a>;
  return <button class={`link ${look}`} title={title} onClick={() => void saveAnswer(url, name).catch(failed)}>{children}</button>;
}

/** A link that shows an answer in a tab of its own; where it would lead nowhere, the answer is saved instead. */
export function Open({ url, name, failed, title, class: look = "small", children }: Linked & { name: string }) {
  if (isOnlyAsked()) return <Save url={url} name={name} failed={failed} class={look}>{children}</Save>;
  return <a class={look} href={url} target="_blank" rel="noopener" title={title}>{children}</a>;
}
