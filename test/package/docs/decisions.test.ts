import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { repository } from "../compile.ts";

it("docs/decisions/README.md lists every decision, under the title of its page", () => {
  const folder = `${repository}docs/decisions/`;
  const index = readFileSync(`${folder}README.md`, "utf8");
  const listed = [...index.matchAll(/^\| +\d+ \| \[(.+?)\]\((\d{4}-\S+\.md)\)/gm)].map(([, title, file]) => [
    file,
    title,
  ]);
  const pages = readdirSync(folder).filter((file) => file !== "README.md");
  expect(listed).toEqual(pages.toSorted().map((file) => [file, titleOf(readFileSync(folder + file, "utf8"))]));
});

const titleOf = (page: string): string | undefined => /^# \d+\. (.+)$/m.exec(page)?.[1];
