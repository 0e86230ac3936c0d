import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { describe, expect, it } from "vitest";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { recordingTelemetry, tracedAgent } from "./tracedAgent.ts";

const execute = promisify(execFile);

describe("a run whose process was killed", () => {
  it("is resumed in a trace that links to its first trace", async () => {
    const directory = await temporaryDirectory();
    const program = await bundleWorker(directory, "../integrations/otel/killedWorker.ts");
    const ended = execute(process.execPath, [program, directory]);
    await expect(ended).rejects.toMatchObject({ signal: "SIGKILL" });
    const { telemetry, named } = recordingTelemetry();
    const storage = new FilePersistenceStorageProvider({ directory: join(directory, "agents") });
    const { status } = await tracedAgent(telemetry, { storage }).resume({ agentId: "a-1" });
    expect(status).toBe("completed");
    const [resumed] = named("invoke_agent desk");
    const traceId = await readFile(join(directory, "trace.txt"), "utf8");
    expect(resumed?.links.map(({ context }) => context)).toMatchObject([{ traceId, isRemote: true }]);
    expect(resumed?.spanContext().traceId).not.toBe(traceId);
    await rm(directory, { recursive: true });
  });
});
