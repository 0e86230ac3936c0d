import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";

const source = new URL("../../src/", import.meta.url).pathname;

/** For Node 20, esbuild compiles `using` so that an error of one turn of a loop is thrown again at the end of later turns. */
it("declares no resource with using directly in a loop", () => {
  const found: string[] = [];
  for (const path of readdirSync(source, { recursive: true, encoding: "utf8" })) {
    if (!/\.tsx?$/.test(path)) continue;
    const text = readFileSync(join(source, path), "utf8");
    if (/^\s.*\busing \w+ =/m.test(text)) found.push(...usingInLoops(text).map((line) => `${path}:${line}`));
  }
  expect(found).toEqual([]);
  expect(usingInLoops("for (const a of b) {\n  await using c = a();\n}")).toEqual([2]);
  expect(usingInLoops("for (const a of b) await use(async () => {\n  await using c = a();\n});")).toEqual([]);
});

function usingInLoops(text: string): readonly number[] {
  const file = ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest);
  const lines: number[] = [];
  const visit = (node: ts.Node, isInLoop: boolean): void => {
    if (isInLoop && ts.isVariableDeclarationList(node) && (node.flags & ts.NodeFlags.Using) !== 0)
      lines.push(file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1);
    const isLoop = ts.isIterationStatement(node, false);
    ts.forEachChild(node, (child) => visit(child, isLoop || (isInLoop && !ts.isFunctionLike(node))));
  };
  visit(file, false);
  return lines;
}
