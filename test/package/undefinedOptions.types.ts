// Compiled, never run: an option may be left out or be `undefined`, also under `exactOptionalPropertyTypes`.
import type * as root from "agent-persistence";
import { type AgentContext, RollbackToolRegistry, tool } from "agent-persistence";
import type { AiSdkExecutorOptions } from "agent-persistence/ai-sdk";
import type { FileProviderOptions, FileRecordLogOptions } from "agent-persistence/file";
import type * as feature from "agent-persistence/feature";
import type * as storage from "agent-persistence/storage";
import type * as task from "agent-persistence/task";
import type { CrashOptions, ScriptedModelOptions, ScriptedTurn } from "agent-persistence/testing";
import type * as workspace from "agent-persistence/workspace";
import { z } from "zod";

type OptionalKeys<Options> = {
  [Key in keyof Options]-?: object extends Pick<Options, Key> ? Key : never;
}[keyof Options];

/** Names the options that may be left out and may not be `undefined`. */
type Exact<Options> = {
  [Key in OptionalKeys<Options>]: { readonly [Name in Key]: undefined } extends Pick<Options, Key> ? never : Key;
}[OptionalKeys<Options>];

const noneIsExact = <Options>(..._proof: [Exact<Options>] extends [never] ? [] : [Exact<Options>]): void => {};

// @ts-expect-error the test notices one
noneIsExact<{ readonly a?: string | undefined; readonly b?: string }>();

noneIsExact<root.AIAgentConfig<string, string>>();
noneIsExact<root.RunOptions>();
noneIsExact<root.ResumeOptions>();
noneIsExact<root.InputRequest>();
noneIsExact<root.Decision>();
noneIsExact<root.Requirements>();
noneIsExact<root.NodeOptions<string, string>>();
noneIsExact<root.ParallelOptions>();
noneIsExact<root.EachOptions<string>>();
noneIsExact<root.PersistenceConfig>();
noneIsExact<root.TrimmingPolicy>();
noneIsExact<root.InverseRetry>();
noneIsExact<root.RetentionPolicy>();
noneIsExact<root.PruneOptions>();
noneIsExact<root.UnfinishedOptions>();
noneIsExact<root.RestartOptions>();
// A node may be given `undefined`, which is something else than no input.
noneIsExact<Omit<root.CreateCheckpointOptions<string>, "lastInput">>();
noneIsExact<root.RollbackOptions>();
noneIsExact<feature.NewNote>();
noneIsExact<storage.LogProviderOptions>();
noneIsExact<root.CheckpointFilter>();
noneIsExact<root.EnvironmentAnswer>();
noneIsExact<Omit<Parameters<root.RunPersistence["setExecutionPoint"]>[0], "input">>();
noneIsExact<Parameters<root.DurableAgent["setExecutionPoint"]>[0]>();
noneIsExact<NonNullable<Parameters<root.DurableAgent["getMessages"]>[0]>>();
noneIsExact<NonNullable<Parameters<root.DurableAgent["answer"]>[2]>>();
noneIsExact<NonNullable<Parameters<root.DurableAgent["cancel"]>[1]>>();
noneIsExact<Parameters<AgentContext["llm"]["configure"]>[0]>();
noneIsExact<NonNullable<Parameters<AgentContext["llm"]["request"]>[0]>>();
noneIsExact<NonNullable<Parameters<typeof root.triggers.interval>[0]>>();
noneIsExact<NonNullable<Parameters<typeof root.triggers.contextDelta>[0]>>();

noneIsExact<FileProviderOptions>();
noneIsExact<FileRecordLogOptions>();
noneIsExact<AiSdkExecutorOptions>();
noneIsExact<CrashOptions>();
noneIsExact<ScriptedModelOptions>();
noneIsExact<Exclude<ScriptedTurn, string>>();

noneIsExact<task.TaskManagerOptions>();
noneIsExact<task.TaskFilter>();
noneIsExact<task.InterruptTaskOptions>();
noneIsExact<task.NewTask>();
noneIsExact<NonNullable<Parameters<task.TaskManager["pause"]>[2]>>();
noneIsExact<Parameters<task.TaskManager["complete"]>[1]>();
noneIsExact<NonNullable<Parameters<task.TaskManager["fail"]>[2]>>();
noneIsExact<task.TaskWorkerOptions>();
noneIsExact<task.WorkOptions>();
noneIsExact<task.RetentionScheduleOptions>();
noneIsExact<task.RecoverAllOptions>();
noneIsExact<task.RecoverOptions>();
noneIsExact<task.NodeEnvironmentOptions>();

noneIsExact<workspace.WorkspaceOptions>();
noneIsExact<workspace.ReservationsOptions>();
noneIsExact<workspace.AcquireOptions>();
noneIsExact<workspace.MergeOptions>();
noneIsExact<workspace.ConflictResolverOptions>();
noneIsExact<workspace.ContentConflict>();
noneIsExact<workspace.OptimisticLockOptions>();
noneIsExact<workspace.DriftWatchConfig>();
noneIsExact<workspace.GitCommitRequest>();
noneIsExact<workspace.RebaseOptions>();
noneIsExact<NonNullable<Parameters<workspace.Workspace["preview"]>[1]>>();
noneIsExact<NonNullable<Parameters<typeof workspace.resolveInRun>[3]>>();
noneIsExact<Parameters<typeof workspace.recommendRestart>[0]>();

const probe = undefined as (() => "unknown") | undefined;
const effect = undefined as root.ToolEffect | undefined;
const dangerous = undefined as boolean | undefined;
const book = tool({
  name: "book",
  description: "",
  inputSchema: z.string(),
  effect,
  dangerous,
  externalApi: dangerous,
  modifiesFiles: dangerous,
  execute: () => 1,
  probe,
});
new RollbackToolRegistry().registerRollback(book, () => undefined, { effect });
