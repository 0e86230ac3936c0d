import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodeEnvironment } from "agent-persistence/task";
import { expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { testDirectory } from "../../storage/file/support/fixture.ts";

it("nodeEnvironment hashes files relative to a directory and distinguishes directories from files", async () => {
  const directory = await testDirectory();
  const environment = nodeEnvironment({ workingDirectory: directory });
  await writeFile(join(directory, "a.txt"), "content");
  await mkdir(join(directory, "folder"));
  expect(environment.workingDirectory).toBe(directory);
  expect(await environment.hashOf("a.txt", directory)).toBe(nodeSha256.hex("content"));
  expect(await environment.hashOf(join(directory, "a.txt"), "/")).toBe(nodeSha256.hex("content"));
  for (const none of ["b.txt", "folder", "a.txt/b"])
    expect([none, await environment.hashOf(none, directory)]).toEqual([none, undefined]);
  expect(await environment.hasDirectory(join(directory, "folder"))).toBe(true);
  expect(await environment.hasDirectory(join(directory, "a.txt"))).toBe(false);
  expect(await environment.hasDirectory(join(directory, "none"))).toBe(false);
});

it("nodeEnvironment compares versions and variables without revealing values or running a stored program", async () => {
  process.env["RECOVERY_TEST"] = "secret";
  const environment = nodeEnvironment({ versions: { python: () => "3.12.1", none: () => undefined } });
  const found = async (name: string, wanted: string) => environment.lookUp(name, wanted);
  expect(await found("node", ">=20")).toEqual({ found: process.versions.node, satisfied: true });
  expect(await found("node", "<10")).toMatchObject({ satisfied: false });
  expect(await found("git", ">=1")).toMatchObject({ satisfied: true });
  expect(await found("python", "^3.11")).toEqual({ found: "3.12.1", satisfied: true });
  expect(await found("none", "*")).toEqual({ satisfied: false });
  expect(await found("env:RECOVERY_TEST", "*")).toEqual({ satisfied: true });
  expect(await found("env:RECOVERY_TEST", "secret")).toEqual({ satisfied: true });
  expect(await found("env:RECOVERY_TEST", "other")).toEqual({ satisfied: false });
  expect(await found("env:RECOVERY_TEST_NONE", "*")).toEqual({ satisfied: false });
  for (const hostile of ["touch /tmp/canary", "__proto__", "constructor", ""])
    expect(await found(hostile, "*")).toEqual({ satisfied: false });
  delete process.env["RECOVERY_TEST"];
});
