import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { scriptedModel } from "agent-persistence/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import type { Sha256 } from "../../src/internal/sha256/Sha256.ts";
import { collect } from "../storage/file/support/fixture.ts";
import { temporaryFolder } from "../workspace/fixture.ts";

const steps = 100;

function stepper(storage: FilePersistenceStorageProvider): AIAgent<number, number> {
  const looping = strategy<number, number>("looping", (graph) => {
    const node = graph.node("step", (step: number, context) => {
      context.llm.append({ role: "user", content: `step ${step} ${"é".repeat(1_000)}` });
      return step;
    });
    graph.edge(graph.start, node);
    graph.edge(node, node, { when: (step) => step < steps, map: (step) => step + 1 });
    graph.edge(node, graph.finish, { when: (step) => step >= steps });
  });
  const agent = new AIAgent({
    llmModel: "m",
    promptExecutor: scriptedModel([]),
    strategy: looping,
    maxIterations: 200,
  });
  return agent.install(Persistence, { storage });
}

let hashedBytes = 0;
const counting: Sha256 = {
  hex: (data) => nodeSha256.hex(data),
  base64url(data) {
    hashedBytes += data.length;
    return nodeSha256.base64url(data);
  },
};

async function hashed(work: () => Promise<unknown>): Promise<number> {
  hashedBytes = 0;
  await work();
  return hashedBytes;
}

const open = (directory: string) => new FilePersistenceStorageProvider({ directory, sha256: counting });

describe("an agent of 100 steps", () => {
  let directory: string;
  let segment: string;

  beforeEach(async () => {
    directory = temporaryFolder();
    const storage = open(directory);
    await stepper(storage).run(1, { agentId: "a" });
    await storage.log.close();
    const [task = ""] = readdirSync(join(directory, "tasks"));
    segment = join(directory, "tasks", task, "checkpoints", "1.jsonl");
  });

  it("is hashed once by a fork, an export and an import", async () => {
    const { length } = readFileSync(segment);
    const archive: Uint8Array[] = [];
    const works = [
      () =>
        persistence(stepper(open(directory)))
          .agent("a")
          .fork("b"),
      async () => archive.push(...(await collect(exportAgent(open(directory), "a")))),
      async () => importAgent(open(temporaryFolder()), Readable.from(archive)),
    ];
    for (const work of works) {
      const bytes = await hashed(work);
      expect(bytes).toBeGreaterThan(0.9 * length);
      expect(bytes).toBeLessThan(1.4 * length);
    }
  });

  it("is refused by a fork and an export if one of its lines is damaged, which name the line", async () => {
    const lines = readFileSync(segment, "utf8").split("\n");
    lines[49] = (lines[49] ?? "").replace("é", "e");
    writeFileSync(segment, lines.join("\n"));
    const storage = open(directory);
    const feature = persistence(stepper(storage));
    const found = { code: "corrupt_log", line: 50, lastPosition: 47 };
    await expect(feature.agent("a").fork("b")).rejects.toMatchObject(found);
    await expect(collect(exportAgent(storage, "a"))).rejects.toMatchObject(found);
    expect((await collect(storage.log.list())).map(({ agentId }) => agentId)).not.toContain("b");
  });
});
