import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SimulatedClock } from "agent-persistence/testing";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { TaskManager, TaskStatus, type Task } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import { agentPath, testDirectory } from "../../storage/file/support/fixture.ts";
import { wayTo } from "./tasksInEachStatus.ts";

const statuses = Object.values(TaskStatus);

const keys: Readonly<Record<TaskStatus, readonly string[]>> = {
  queued: ["task_id", "created_at", "priority", "estimated_complexity", "input_request", "reserves"],
  in_progress: ["started_at"],
  paused: ["paused_at", "pause_reason", "resume_instructions", "snapshot"],
  waiting: ["waiting_for", "prompt_shown_to_user", "timeout_at"],
  completed: ["completed_at", "final_output", "files_modified", "verification_results"],
  failed: ["failed_at", "error_type", "error_message", "stack_trace", "recoverable", "retry_count"],
  cancelled: ["cancelled_at", "reason"],
};

/** What may become of the file. Each changes what it says, if it says anything still. */
const harms: Readonly<Record<string, (path: string) => Promise<void>>> = {
  lost: (path) => rm(path),
  empty: (path) => writeFile(path, ""),
  "cut short": async (path) => writeFile(path, (await readFile(path, "utf8")).slice(0, -20)),
  "edited by hand": async (path) =>
    writeFile(path, (await readFile(path, "utf8")).replace(/"status":"\w+"/, '"status":"completed_by_hand"')),
};

async function onlyTask(directory: string): Promise<Task | undefined> {
  for await (const task of manager(directory).list()) return task;
  return undefined;
}

function manager(directory: string): TaskManager {
  return new TaskManager({ storage: new FilePersistenceStorageProvider({ directory }), clock: new SimulatedClock() });
}

describe.each(statuses)("state.json of a task that is %s", (status) => {
  async function written() {
    const directory = await testDirectory();
    const reserves = [{ path: "a", operation: "read" }] as const;
    await manager(directory).create({
      taskId: "t",
      taskName: "import",
      inputRequest: "in",
      estimatedComplexity: "high",
      reserves,
    });
    await wayTo[status](manager(directory), "t");
    return { directory, path: join(agentPath(directory, "t"), "state.json") };
  }

  it("state.json has the specified keys", async () => {
    const { path } = await written();
    const state = JSON.parse(await readFile(path, "utf8")) as Record<string, unknown>;
    expect(state).toMatchObject({
      version: "1.0",
      task_id: "t",
      task_name: "import",
      status,
      created_at: "2026-01-01T00:00:00.000Z",
      updated_at: "2026-01-01T00:00:00.000Z",
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(Object.keys(state["data"] as object)).toEqual(keys[status]);
  });

  it.each(Object.keys(harms))(
    "may be %s: the task is unchanged, and the next owner rewrites the same file",
    async (harm) => {
      const { directory, path } = await written();
      const before = await onlyTask(directory);
      const state = await readFile(path, "utf8");
      expect(before?.status).toBe(status);
      await harms[harm]?.(path);
      expect(await onlyTask(directory)).toEqual(before);
      expect(await manager(directory).get("t")).toEqual(before);
      const storage = new FilePersistenceStorageProvider({ directory });
      await (await storage.log.open("t", { host: "h", processId: 1, nonce: "n" })).release();
      expect(withoutOwner(await readFile(path, "utf8"))).toEqual(withoutOwner(state));
      expect(await onlyTask(directory)).toEqual(before);
    },
  );
});

/** Without what says which owner wrote it. */
function withoutOwner(text: string): unknown {
  const { generation: _generation, checksum: _checksum, ...state } = JSON.parse(text) as Record<string, unknown>;
  return state;
}
