import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { repository } from "../compile.ts";

interface Manifest {
  readonly repository: { readonly url: string };
  readonly homepage: string;
  readonly bugs: { readonly url: string };
}
const manifest = JSON.parse(readFileSync(`${repository}package.json`, "utf8")) as Manifest;
/** The one value. npm compares it with the repository of the workflow that publishes with provenance. */
const url = /^git\+(https:\/\/github\.com\/[\w-]+\/[\w-]+)\.git$/.exec(manifest.repository.url)?.[1] ?? "";

it("the links of package.json are those of its repository", () => {
  expect(url).not.toBe("");
  expect(manifest).toMatchObject({ homepage: `${url}#readme`, bugs: { url: `${url}/issues` } });
});

it("each link to the repository is that of package.json", () => {
  const name = url.split("/").at(-1) ?? "";
  const found = execFileSync("git", ["grep", "-hoIE", `https://github\\.com/[A-Za-z0-9_-]+/${name}\\b`], {
    cwd: repository,
    encoding: "utf8",
  });
  expect(new Set(found.trim().split("\n"))).toEqual(new Set([url]));
});
