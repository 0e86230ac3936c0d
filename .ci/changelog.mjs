// Writes the section of a version into docs/CHANGELOG.md: the text under "Unreleased", and the commits since the last
// tag. `npm version` calls it. `--check 1.2.3` fails if package.json or the changelog has another version, and
// `--print 1.2.3` prints the section.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const file = new URL("../docs/CHANGELOG.md", import.meta.url);
const titles = { breaking: "Incompatible changes", feat: "Features", fix: "Fixes", perf: "Performance" };

/**
 * @param {string} changelog
 * @param {{ version: string, date: string, subjects: readonly string[] }} release `subjects` are those of its commits
 */
export function withRelease(changelog, { version, date, subjects }) {
  if (sectionOf(changelog, version) !== undefined) throw new Error(`The changelog already has version ${version}.`);
  const heading = "## [Unreleased]\n";
  const at = changelog.indexOf(heading);
  if (at < 0) throw new Error(`The changelog has no line "${heading.trim()}".`);
  const before = changelog.slice(0, at + heading.length);
  const rest = changelog.slice(at + heading.length).trimStart();
  const next = rest.search(/^## \[/m);
  const [written, earlier] = next < 0 ? [rest, ""] : [rest.slice(0, next), rest.slice(next)];
  const parts = [`## [${version}] - ${date}`, written.trim(), ...commitLists(subjects), earlier.trim()];
  return `${before}\n${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** @param {string} changelog @param {string} version */
export function sectionOf(changelog, version) {
  const [, section] = changelog.split(`## [${version}]`);
  return section?.split("\n## [")[0].split("\n").slice(1).join("\n").trim();
}

/** @param {readonly string[]} subjects */
function commitLists(subjects) {
  const commits = subjects.flatMap((subject) => {
    const [, type, scope, mark, text] = /^(\w+)(?:\(([^)]+)\))?(!)?: (.+)$/.exec(subject) ?? [];
    return text === undefined ? [] : [{ type: mark ? "breaking" : type, line: scope ? `${scope}: ${text}` : text }];
  });
  return Object.entries(titles).flatMap(([type, title]) => {
    const lines = commits.filter((commit) => commit.type === type).map(({ line }) => `- ${line}`);
    return lines.length === 0 ? [] : [`### Commits: ${title.toLowerCase()}\n\n${lines.join("\n")}`];
  });
}

/** Returns no subjects before the first release, whose changes are those of the whole history. */
function subjectsSinceLastTag() {
  const git = (/** @type {string[]} */ ...args) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const [tag] = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname").split("\n");
  return tag ? git("log", "--no-merges", "--format=%s", `${tag}..HEAD`).split("\n") : [];
}

function main([command, given]) {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const changelog = readFileSync(file, "utf8");
  if (command === "--print" || command === "--check") {
    const section = sectionOf(changelog, given);
    if (section === undefined) throw new Error(`docs/CHANGELOG.md has no section for ${given}. Run npm version.`);
    if (command === "--print") return console.log(section);
    if (version !== given) throw new Error(`package.json has version ${version}, and the tag ${given}.`);
    return;
  }
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(file, withRelease(changelog, { version, date, subjects: subjectsSinceLastTag() }));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main(process.argv.slice(2));
