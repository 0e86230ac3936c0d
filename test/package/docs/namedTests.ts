import { existsSync, readFileSync } from "node:fs";
import { repository } from "../compile.ts";

/** A test that a page names: "`test/….test.ts`: "beginning of its title", "beginning of another"". */
export interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** The tests that a text names. */
export function testsIn(text: string): readonly NamedTest[] {
  const named = text.matchAll(/`(test\/[^`]+\.test\.ts)`[^"|`]*("[^"]+"(?:, "[^"]+")*)/g);
  return [...named].flatMap(([, file = "", titles = ""]) =>
    [...titles.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => ({ file, title })),
  );
}

/** What is wrong with a name. */
export function problemsOf({ file, title }: NamedTest): readonly string[] {
  if (!existsSync(repository + file)) return [`there is no ${file}`];
  const source = readFileSync(repository + file, "utf8");
  return ['"', "`"].some((quote) => source.includes(quote + title)) ? [] : [`${file} has no test "${title}…"`];
}
