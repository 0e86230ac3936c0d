import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeFileSystem } from "../../src/nodejs/nodeFileSystem.ts";
import { testDirectory } from "../storage/file/support/fixture.ts";

it("the file system reads more than Node reads at once, such as a log of more than 2 GiB", async () => {
  const path = join(await testDirectory(), "log");
  await writeFile(path, "a few bytes");
  // Memory that nothing is read into is not taken.
  const bytes = await nodeFileSystem.readFile(path, 2, 2 ** 31 + 10);
  expect(Buffer.from(bytes).toString()).toBe("few bytes");
});
