import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIAgent, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { expect, it } from "vitest";

it("a directory that is none is named with the code of the system", async () => {
  const home = await mkdtemp(join(tmpdir(), "agent-persistence-"));
  await writeFile(join(home, "file"), "");
  const storage = new FilePersistenceStorageProvider({ directory: join(home, "file", "agents") });
  const agent = new AIAgent({ promptExecutor: scriptedModel(["hi"]), llmModel: "m" }).install(Persistence, { storage });
  await expect(agent.run("hello")).rejects.toMatchObject({
    code: "storage_failed",
    reason: "unavailable",
    message: expect.stringContaining("(unavailable, ENOTDIR)") as string,
  });
  await rm(home, { recursive: true });
});
