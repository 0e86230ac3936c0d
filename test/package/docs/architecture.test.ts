import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { repository } from "../compile.ts";

const src = `${repository}src`;
const page = readFileSync(`${repository}docs/architecture.md`, "utf8").replaceAll(/^```.*?^```/gms, "");
const names = [...page.matchAll(/`([^`\n]+)`/g)].map(([, name = ""]) => name);
const rooms = readdirSync(src, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

it("docs/architecture.md names only functions, types and options of src", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  const code = files.map((file) =>
    readFileSync(`${src}/${file}`, "utf8").replaceAll(/\/\*.*?\*\/|^ *\/\/[^\n]*/gms, ""),
  );
  const known = new Set([...code, ...files].flatMap((text) => text.match(/[\w$]+/g) ?? []));
  const used = names.flatMap((name) => name.match(/^[A-Za-z]*[a-z][A-Z][A-Za-z]*(?=$|\()/g) ?? []);
  expect(used.length).toBeGreaterThan(40);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});

it("docs/architecture.md names only existing files and directories of src", () => {
  const inSrc = (path: string) => existsSync(`${src}/${path}`);
  const missing: string[] = [];
  let paths = 0;
  let last = "";
  for (const name of names) {
    const isShort = /^\/[\w-]+$/.test(name);
    if (rooms.includes(name)) last = name;
    if (!isShort && !(name.includes("/") && rooms.includes(name.replace(/\/.*/, "")))) continue;
    // A name such as `/lists` is in the last directory or next to it.
    const found = isShort ? [`${last}${name}`, `${last}/..${name}`].find(inSrc) : [name].find(inSrc);
    if (found === undefined) missing.push(name);
    if (!isShort) last = name;
    paths++;
  }
  expect(paths).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});
