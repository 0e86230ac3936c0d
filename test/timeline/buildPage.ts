import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const room = fileURLToPath(new URL("../../src/timeline/", import.meta.url));
const built = join(room, "timeline-page");

/** For `globalSetup`: the script and the style of the timeline's page, beside the sources that read them, if they are old. */
export default async function buildPage(): Promise<void> {
  if (isNew()) return;
  const [esbuild, { buildTimelinePage }] = await Promise.all([import("esbuild"), import("../../tsup.config.ts")]);
  const scratch = mkdtempSync(`${built}-`);
  try {
    await buildTimelinePage(esbuild, scratch);
    // Another run may be building it, too: whoever is last replaces it with the same.
    rmSync(built, { recursive: true, force: true });
    renameSync(scratch, built);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function isNew(): boolean {
  const made = statSync(join(built, "page.css"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = ["page", "layout", "data"].flatMap((folder) =>
    readdirSync(join(room, folder), { recursive: true, encoding: "utf8" }).map(
      (file) => statSync(join(room, folder, file)).mtimeMs,
    ),
  );
  return sources.every((time) => time < made);
}
