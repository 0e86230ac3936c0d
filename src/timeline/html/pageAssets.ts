import { readFile } from "node:fs/promises";

export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

let loaded: Promise<PageAssets> | undefined;

/** Reads the built script and style once. */
export function pageAssets(): Promise<PageAssets> {
  loaded ??= readAssets();
  return loaded;
}

async function readAssets(): Promise<PageAssets> {
  const [script, style] = await Promise.all(["page.js", "page.css"].map(readBuilt));
  return { script: script ?? "", style: style ?? "" };
}

function readBuilt(name: string): Promise<string> {
  return readFile(new URL(`./timeline-page/${name}`, import.meta.url), "utf8");
}
