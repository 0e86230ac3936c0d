import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { FileCapture } from "../../../src/workspace/capture/FileCapture.ts";
import { IgnoreRules } from "../../../src/workspace/capture/IgnoreRules.ts";
import { hiddenAt } from "../../../src/workspace/capture/Scan.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { TestRepository } from "../git/repositories.ts";
import { Workspace } from "agent-persistence/workspace";
import { put, Shell } from "../Shell.ts";
import { cases } from "../../soak/cases.ts";

const names = ["a", "b", "out", "x.log", "k y"];
const pattern = fc
  .tuple(
    fc.constantFrom("", "!"),
    fc.constantFrom("", "/", "a/", "**/", "/out/"),
    fc.constantFrom("a", "b", "out", "*.log", "x.*", "*", "k y", "[ab]"),
    fc.constantFrom("", "/", "/*", "/**"),
  )
  .map((parts) => parts.join(""));
const ignoreFile = fc.array(pattern, { minLength: 1, maxLength: 4 }).map((lines) => `${lines.join("\n")}\n`);
const folders = ["", "a/", "out/", "a/out/", "out/a/"];

const paths = [
  ...folders.flatMap((folder) => names.map((name) => `${folder}${name}/f`)),
  ...folders.flatMap((folder) => ["f", "f.log"].map((name) => `${folder}${name}`)),
];

/** Files in nested folders, with ignore files in some of them. */
const ignored = fc
  .array(fc.tuple(fc.constantFrom(...folders), ignoreFile), { minLength: 1, maxLength: 4 })
  .map((files) => Object.fromEntries(files.map(([folder, text]) => [`${folder}.gitignore`, text])));

const settings = fc.record({
  /** Where the workspace is; "" is the top of the work tree. */
  prefix: fc.constantFrom(...folders),
  exclude: fc.option(ignoreFile, { nil: undefined }),
  excludesFile: fc.option(ignoreFile, { nil: undefined }),
  /** The paths that are tracked, whether a rule ignores them or not. */
  tracked: fc.subarray(paths),
});

it("a scan includes tracked and unignored files in every directory of a repository", async () => {
  await fc.assert(
    fc.asyncProperty(ignored, settings, async (ignoreFiles, { prefix, exclude, excludesFile, tracked }) => {
      const repository = TestRepository.create();
      for (const path of paths) repository.write(path, "1");
      for (const [path, text] of Object.entries(ignoreFiles)) repository.write(path, text);
      if (exclude !== undefined) repository.write(".git/info/exclude", exclude);
      const file = join(temporaryFolder(), "excludes");
      if (excludesFile !== undefined) writeFileSync(file, excludesFile);
      repository.git("config", "core.excludesFile", file);
      if (tracked.length > 0) repository.git("add", "--force", "--", ...tracked);
      if (prefix !== "" && isIgnored(repository, "--no-index", prefix)) return;
      const listed = ["--cached", "--others"].flatMap((kind) =>
        repository.git("ls-files", "-z", kind, ...(kind === "--others" ? ["--exclude-standard"] : [])).split("\0"),
      );
      const wanted = listed.filter((path) => path.startsWith(prefix) && path !== "");
      const scan = await scanOf(join(repository.root, prefix));
      expect([...scan.files.keys()].toSorted()).toEqual(wanted.map((path) => path.slice(prefix.length)).toSorted());
      // What git calls ignored is hidden with its folder, and nothing else is.
      const left = repository.git("ls-files", "-z", "--others", "--ignored", "--exclude-standard").split("\0");
      for (const path of left.filter((one) => one.startsWith(prefix) && one !== ""))
        expect([path, hiddenAt(scan, path.slice(prefix.length))]).not.toEqual([path, undefined]);
      for (const path of scan.hidden.keys())
        if (path !== ".git") expect(isIgnored(repository, `${prefix}${path}`)).toBe(true);
    }),
    {
      examples: [
        [
          { ".gitignore": "out/\n", "a/.gitignore": "!out/\n" },
          { prefix: "", exclude: undefined, excludesFile: undefined, tracked: [] },
        ],
        [
          { ".gitignore": "*.log\n" },
          { prefix: "a/out/", exclude: "f\n", excludesFile: "b/\n", tracked: ["a/out/f.log"] },
        ],
        [
          { ".gitignore": "out/\n" },
          { prefix: "a/", exclude: undefined, excludesFile: undefined, tracked: ["a/out/f"] },
        ],
      ],
      numRuns: cases(8, 60),
    },
  );
});

/** Whether a rule ignores a path or a folder above it. Without `--no-index`, no rule ignores a tracked file. */
function isIgnored(repository: TestRepository, ...args: readonly string[]): boolean {
  try {
    repository.git("check-ignore", "--quiet", ...args);
    return true;
  } catch {
    return false;
  }
}

const scanOptions = { rules: IgnoreRules.of([]), maximumFileBytes: 1e6, maximumFiles: 1e6 };

function scanOf(root: string) {
  return new FileCapture({ root, rules: IgnoreRules.of([]), maximumFileBytes: 1e6, maximumFiles: 1e6 }).scan();
}

it("a workspace that its repository ignores is captured as if outside a repository", async () => {
  const repository = TestRepository.create();
  repository.commit({ ".gitignore": "sandbox/\n*.log\n" });
  repository.write("sandbox/x.log", "1");
  expect([...(await scanOf(join(repository.root, "sandbox"))).files.keys()]).toEqual(["x.log"]);
});

it("tracked files are skipped only by the option of the workspace", async () => {
  const repository = TestRepository.create();
  repository.commit({ "kept.log": "1", "left/out": "1" });
  repository.write(".gitignore", "*.log\n");
  const rules = IgnoreRules.of(["left/"]);
  const capture = new FileCapture({ root: repository.root, rules, maximumFileBytes: 1e6, maximumFiles: 1e6 });
  expect([...(await capture.scan()).files.keys()].toSorted()).toEqual([".gitignore", "kept.log"]);
});

it("a tracked file that matches a rule is rolled back", async () => {
  const repository = TestRepository.create();
  repository.commit({ "playground.ts": "1" });
  repository.write(".gitignore", "playground.ts\n");
  const shell = new Shell(repository.root, [() => repository.write("playground.ts", "2")]);
  await shell.run();
  await shell.rollBack(0);
  expect(readFileSync(join(repository.root, "playground.ts"), "utf8")).toBe("1");
});

it.each([
  ["in a directory of the workspace", "packages/app/.gitignore"],
  ["above the workspace", ".gitignore"],
  ["in the settings of the repository", ".git/info/exclude"],
])("an ignore pattern that is too long hides no file, %s", async (_name, path) => {
  const repository = TestRepository.create();
  repository.write("packages/app/f", "1");
  const root = join(repository.root, "packages/app");
  const before = treeOf(root);
  const long = `${"?".repeat(60_000)}\n${"[a-z]".repeat(819)}\n${"**/".repeat(1_300)}x\n`;
  const shell = new Shell(root, [
    () => repository.write(path, `${long}skipped\n`),
    () => repository.write("packages/app/g", "2"),
  ]);
  await shell.run();
  repository.write("packages/app/skipped", "1");
  expect((await shell.build().workspace.scan()).files).toBe(path.startsWith("packages") ? 3 : 2);
  await shell.rollBack(0);
  expect(treeOf(root)).toEqual({ ...before, skipped: "644 1" });
});

it("a pipe or device instead of an ignore file is neither opened nor read", async () => {
  const repository = TestRepository.create();
  repository.write("packages/f", "1");
  execFileSync("mkfifo", [join(repository.root, ".gitignore")]);
  repository.git("config", "core.excludesFile", "/dev/zero");
  expect((await scanOf(join(repository.root, "packages"))).files.size).toBe(1);
});

it("a scan applies a limited number of ignore patterns and reports the file that exceeds it", async () => {
  const root = temporaryFolder();
  const patterns = (count: number) => Array.from({ length: count }, (_, at) => `x${at}\n`).join("");
  put(root, { "a/.gitignore": patterns(6_000), "b/.gitignore": patterns(200_000), "b/x5": "1", "b/x199999": "1" });
  const { leftOut } = await new Workspace({ root }).scan();
  expect(leftOut).toEqual([{ path: "b/.gitignore", reason: expect.stringContaining("10000 patterns") }]);
  const scan = await scanOf(root);
  expect([...scan.files.keys()].toSorted()).toEqual(["a/.gitignore", "b/.gitignore", "b/x199999"]);
});

it("a scan calls git again after a call that failed", async () => {
  const repository = TestRepository.create();
  repository.write(".gitignore", "*.lock\n");
  repository.write("kept.lock", "1");
  repository.git("add", "--force", ".");
  const capture = new FileCapture({ ...scanOptions, root: repository.root });
  const path = process.env["PATH"];
  process.env["PATH"] = "/nonexistent";
  const failed = await capture.scan().finally(() => (process.env["PATH"] = path));
  expect([...failed.files.keys()]).toEqual([".gitignore"]);
  expect([...(await capture.scan()).files.keys()].toSorted()).toEqual([".gitignore", "kept.lock"]);
});
