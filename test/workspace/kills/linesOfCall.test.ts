import { constants } from "node:fs";
import { expect, it } from "vitest";
import { linesOfCall } from "./linesOfCall.ts";
import type { TraceLine } from "./trace/TraceLine.ts";

/** Of the file `a`, and of the link. */
const [file, link] = [".ca978112ca1bbdca-0011223344556677.agent-tmp", ".b1b1bdb480c61d07-0011223344556677.agent-tmp"];

const writing = constants.O_CREAT | constants.O_WRONLY;
const replaced = (path: string, staged: boolean): readonly TraceLine[] => [
  { kind: "replaces", path, staged },
  { kind: "replaced", path, staged },
];

const calls: readonly (readonly [
  what: string,
  name: string,
  given: readonly unknown[],
  lines: readonly TraceLine[],
])[] = [
  ["a look at a file", "lstat", ["/project/d/e"], [{ kind: "looks", path: "d/e" }]],
  ["a look at a temporary file", "lstat", [`/project/${file}`], []],
  ["a new content that is written", "open", [`/project/${file}`, writing], [{ kind: "stages", name: file }]],
  ["a temporary file that is read", "open", [`/project/${file}`, constants.O_RDONLY], []],
  ["a link that is made", "symlink", ["anywhere", `/project/${link}`], [{ kind: "stages", name: link }]],
  ["a link to a file that is made", "symlink", ["/project/a", `/project/${link}`], [{ kind: "stages", name: link }]],
  ["a content that is put in place", "rename", [`/project/${file}`, "/project/a"], replaced("a", true)],
  ["a link that is put in place", "rename", [`/project/${link}`, "/project/link"], replaced("link", true)],
  ["a file that is removed", "unlink", ["/project/a"], replaced("a", false)],
  ["a temporary file that is removed", "unlink", [`/project/${file}`], []],
  ["a call outside the root", "unlink", ["/elsewhere/a"], []],
  ["a link that is made outside the root", "symlink", ["anywhere", `/elsewhere/${link}`], []],
];

it.each(calls)("the trace shows %s", (_what, name, given, lines) => {
  expect(linesOfCall("/project", { name, given })).toEqual(lines);
});
