import fc from "fast-check";
import { expect, it } from "vitest";
import { IgnoreRules } from "../../../src/workspace/capture/IgnoreRules.ts";
import { emptyScan } from "../../../src/workspace/capture/Scan.ts";
import { scanFolder } from "../../../src/workspace/capture/scanFolder.ts";
import { TestRepository } from "../git/repositories.ts";

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

/** Files in nested folders, with ignore files in some of them. */
const ignored = fc
  .array(fc.tuple(fc.constantFrom(...folders), ignoreFile), { minLength: 1, maxLength: 4 })
  .map((files) => Object.fromEntries(files.map(([folder, text]) => [`${folder}.gitignore`, text])));

it("a scan looks at the files that git does not ignore, also with ignore files within ignored folders", async () => {
  await fc.assert(
    fc.asyncProperty(ignored, async (ignoreFiles) => {
      const repository = TestRepository.create();
      for (const folder of folders) for (const name of names) repository.write(`${folder}${name}/f`, "1");
      for (const folder of folders) for (const name of ["f", "f.log"]) repository.write(`${folder}${name}`, "1");
      for (const [path, text] of Object.entries(ignoreFiles)) repository.write(path, text);
      const listed = repository.git("ls-files", "-z", "--others", "--exclude-standard").split("\0");
      const rules = IgnoreRules.of([]);
      const options = { root: repository.root, rules, maximumFileBytes: 1e6, maximumFiles: 1e6, onContent: () => {} };
      const { files } = await scanFolder(options, emptyScan);
      expect([...files.keys()].toSorted()).toEqual(listed.filter(Boolean).toSorted());
    }),
    {
      examples: [[{ ".gitignore": "out/\n", "a/.gitignore": "!out/\n" }]],
      numRuns: process.env["SOAK"] === undefined ? 20 : 200,
    },
  );
});
