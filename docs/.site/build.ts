import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { entries, manifest } from "./entries.ts";
import { pageGroups, projectGroup, type ListedPage } from "./pageGroups.ts";
import { preparePages } from "./preparePages.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const source = join(here, "dist/source");
const site = join(here, "dist/site");

rmSync(join(here, "dist"), { recursive: true, force: true });
preparePages(source);
makeApiPages();
run("vitepress", ["build"]);
addTextForModels();

function run(command: string, args: readonly string[]): void {
  // Many short-lived objects: a larger young generation halves the time of the garbage collector.
  const env = { ...process.env, NODE_OPTIONS: `${process.env["NODE_OPTIONS"] ?? ""} --max-semi-space-size=64` };
  execFileSync(join(here, "node_modules/.bin", command), args, { cwd: here, env, stdio: "inherit" });
}

/** Writes a page for each entry of the package, from the TSDoc of its exports. */
function makeApiPages(): void {
  run(
    "typedoc",
    entries.map(({ file }) => `../../src/${file}.ts`),
  );
  for (const { name, file } of entries) {
    const page = join(source, "api", `${file}.md`);
    // Highlighting thousands of signatures would take longer than everything else.
    writeFileSync(
      page,
      readFileSync(page, "utf8")
        .replace(/^# .*$/m, `# ${name}`)
        .replaceAll("```ts\n", "```\n"),
    );
  }
  rmSync(join(source, "api/entries.md"));
}

/** Writes `llms.txt`, which lists the pages, and beside the site's pages their Markdown. */
function addTextForModels(): void {
  const groups = pageGroups().map(({ title, pages }) => ({ title, pages: pages.filter(isInSite) }));
  const guides = groups.filter(({ title }) => title !== projectGroup);
  const project = groups.filter(({ title }) => title === projectGroup).flatMap(({ pages }) => pages);
  const api = entries.map(({ name, file }) => ({
    title: name,
    file: `api/${file}.md`,
    description: `The exports of \`${name}\`.`,
  }));
  // "Optional" is the word of llms.txt for what a short context may leave out.
  const sections = [...guides, { title: "API", pages: api }, { title: "Optional", pages: project }];
  const text = sections.map(({ title, pages }) => `## ${title}\n\n${pages.map(lineOf).join("\n")}\n`).join("\n");
  writeFileSync(join(site, "llms.txt"), `# agent-persistence\n\n> ${manifest.description}\n\n${text}`);
  for (const { file } of sections.flatMap(({ pages }) => pages)) cpSync(join(source, file), join(site, file));
}

function isInSite({ file }: ListedPage): boolean {
  return existsSync(join(source, file));
}

function lineOf({ title, file, description }: ListedPage): string {
  return `- [${title}](${file}): ${description}`;
}
