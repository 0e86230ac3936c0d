import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, Persistence, persistence } from "agent-persistence";
import { codingAgentDefaults } from "agent-persistence/coding";
import { type PrunableAgents, recoverTask } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it, vi } from "vitest";
import { RowsProvider } from "../persistence/support/storages.ts";
import { temporaryFolder, treeOf } from "../workspace/fixture.ts";

const write = (content: string) => ({ toolCalls: [{ toolName: "write_file", input: { path: "a.txt", content } }] });

describe("the defaults for coding agents", () => {
  /** A coding agent that writes a file so many times, and stops after the last one if it is asked to. */
  function coder(count: number, { stop }: { readonly stop?: AbortController } = {}) {
    const root = temporaryFolder();
    const directory = join(temporaryFolder(), "store");
    const turns = [...Array.from({ length: count }, (_, at) => write(`${at}`)), "done"];
    const build = () => {
      const workspace = new Workspace({ root });
      const defaults = codingAgentDefaults({ workspace, directory });
      const agent = new AIAgent({
        id: "coder",
        promptExecutor: scriptedModel(turns),
        llmModel: "m",
        tools: workspace.tools,
        maxIterations: 1_000,
      }).install(Persistence, {
        ...defaults,
        // The scripted model counts messages.
        trimming: undefined,
        onEvent: (event) => {
          if (event.type === "checkpoint_saved" && event.iteration === count * 2) stop?.abort(new Error("stopped"));
        },
      });
      return { agent, workspace, saved: persistence(agent).agent() };
    };
    return { root, build };
  }

  it("make checkpoints before dangerous operations and after changed files, and keep at most 20", async () => {
    const short = coder(2).build();
    await short.agent.run("go");
    const made = (await short.saved.getCheckpoints()).map(({ trigger }) => trigger);
    expect(made).toContain("before_dangerous_operation");
    expect(made).toContain("after_file_modification");
    const long = coder(15).build();
    await long.agent.run("go");
    expect((await long.saved.getCheckpoints()).length).toBeLessThanOrEqual(20);
    expect((await long.saved.getLatestCheckpoint())?.recoveryInfo.workingDirectory).toBe(long.workspace.root);
  });

  it("recover an agent with the files of its workspace, without another option", async () => {
    const stop = new AbortController();
    const { root, build } = coder(2, { stop });
    await expect(build().agent.run("go", { signal: stop.signal })).rejects.toThrow("stopped");
    expect(treeOf(root)).toEqual({ "a.txt": "644 1" });
    writeFileSync(join(root, "a.txt"), "somebody's");
    await expect(recoverTask(build().agent)).rejects.toMatchObject({
      code: "environment_mismatch",
      mismatches: [{ path: "a.txt", options: ["use_current", "use_checkpoint", "merge", "abort"] }],
    });
    const report = await recoverTask(build().agent, { onEnvironmentMismatch: () => "use_checkpoint" });
    expect(report.result.status).toBe("completed");
    expect(treeOf(root)).toEqual({ "a.txt": "644 1" });
  });

  it("turn on the features of the design, and start the schedule with the installation", () => {
    const directory = join(temporaryFolder(), "store");
    const defaults = codingAgentDefaults({ directory });
    expect(defaults.triggers?.map(({ name }) => name).toSorted()).toEqual([
      "after_agent_completion",
      "after_file_modification",
      "after_node",
      "after_user_interaction",
      "before_dangerous_operation",
      "before_external_api_call",
      "context_delta",
      "interval",
    ]);
    expect([defaults.trimming, defaults.retention, defaults.participants]).toEqual([{}, {}, []]);
    const start = vi.fn<(agents: PrunableAgents) => void>();
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m" });
    agent.install(Persistence, { ...defaults, retentionSchedule: { start } });
    expect(start.mock.calls).toEqual([[persistence(agent)]]);
  });

  it("refuse unknown options and a storage that cannot delete", () => {
    expect(() => codingAgentDefaults({ root: "." } as never)).toThrowError(
      expect.objectContaining({ code: "invalid_input" }) as Error,
    );
    const agent = new AIAgent({ promptExecutor: scriptedModel([]), llmModel: "m" });
    expect(() => agent.install(Persistence, codingAgentDefaults({ storage: new RowsProvider() }))).toThrowError(
      expect.objectContaining({ code: "pruning_not_supported" }) as Error,
    );
  });
});
