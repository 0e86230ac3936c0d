import { execFileSync } from "node:child_process";
import { patterns } from "./patterns.ts";
import { parts, proseOf, type Part } from "./parts.ts";

/**
 * Counts the {@link patterns} in the texts of the project, and fails if a part has more of them in 1,000 words than its
 * goal. Arguments are folders or files to count instead of the whole project. `--list` prints each hit.
 */
const args = process.argv.slice(2);
const list = args.includes("--list");
const paths = args.filter((arg) => !arg.startsWith("--"));
const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...paths], {
  encoding: "utf8",
  maxBuffer: 1 << 28,
})
  .split("\0")
  .filter(Boolean);

const results = Object.entries(parts).map(([name, part]) => countPart(name, part));
if (results.includes(false)) process.exitCode = 1;

function countPart(name: string, part: Part): boolean {
  const texts = files.filter(part.includes).map((file) => ({ file, text: proseOf(part, file) }));
  const words = texts.reduce((sum, { text }) => sum + (text.match(/[A-Za-z']+/g) ?? []).length, 0);
  if (words === 0) return true;
  const hits = texts.flatMap(({ file, text }) => hitsIn(text).map((hit) => `${file}: ${hit}`));
  const rate = (1000 * hits.length) / words;
  console.log(`${name}: ${rate.toFixed(1)} in 1,000 words (${words} words, goal ${part.goal})`);
  if (list) console.log(hits.map((hit) => `  ${hit}`).join("\n"));
  return rate <= part.goal;
}

/** Returns each hit with the words around it. */
function hitsIn(text: string): string[] {
  const found = Object.values(patterns).flatMap((pattern) => [...text.matchAll(pattern)]);
  return found.map(({ index, 0: match }) =>
    text
      .slice(Math.max(0, index - 50), index + match.length + 50)
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}
