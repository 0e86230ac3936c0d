import type { AgentFeature, FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import { AIAgent } from "../agent/AIAgent.ts";
import { runOf, visitIn, visitOf } from "../agent/feature/ContextBinding.ts";
import { InvalidInputError } from "../errors/agentErrors.ts";
import { eventLine } from "../listeners/eventEmitter.ts";
import { beginBranch, beginAgentCall } from "./starting/beginNested.ts";
import { dueBetween } from "./saving/saveIfDue.ts";
import { runOrResume } from "./run/runOrResume.ts";
import { journalInputRequest } from "./waiting/journalInputRequest.ts";
import { journalModelRequest } from "./calls/journalModelRequest.ts";
import { failedCallsIn, journalToolCall } from "./calls/journalToolCall.ts";
import type { PersistenceConfig } from "./config/PersistenceConfig.ts";
import { noteEnvironment } from "../environment/EnvironmentMismatch.ts";
import { PersistenceFeature } from "./PersistenceFeature.ts";
import { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import type { AgentTelemetry, Next, Perform } from "../telemetry/AgentTelemetry.ts";
import type { RunRecorder } from "./saving/RunRecorder.ts";
import { recorders } from "./saving/recorders.ts";
import { LiveRequests } from "./waiting/LiveRequests.ts";
import { BranchesChangedError } from "../errors/runErrors.ts";
import type { ParticipantContext } from "../journal/RollbackParticipant.ts";

/**
 * The feature that makes an agent durable.
 *
 * @example
 * ```ts
 * const agent = new AIAgent({ promptExecutor, llmModel: "gpt-5-mini", tools })
 *   .install(Persistence, { storage: new FilePersistenceStorageProvider() });
 * // After a crash, the same call resumes the run.
 * await agent.run("Create the users.", { agentId: "team-7", runId: "monday" });
 * ```
 */
export const Persistence: AgentFeature<PersistenceConfig, PersistenceFeature> = {
  key: "Persistence",
  install(pipeline, config) {
    const setup = new PersistenceSetup(config, pipeline);
    for (const participant of setup.participants) participant.onInstall?.(participantContext(setup));
    pipeline.limitAborts(setup.abortGrace);
    pipeline.claim("resume", "runId", "history", "unfinished", "whenBusy", "requestInput");
    pipeline.aroundRun((request, next) => runOrResume(setup, request, next));
    pipeline.aroundBranch((event, next) => (recorders.find(event.run) ? beginBranch(event, next) : next(event)));
    pipeline.aroundAgentCall((event, next) => (recorders.find(event.run) ? beginAgentCall(event, next) : next(event)));
    pipeline.aroundModelRequest(
      ofRecorded(journalModelRequest, (telemetry, ...call) => telemetry.modelRequest(...call)),
    );
    pipeline.aroundToolCall(ofRecorded(journalToolCall, (telemetry, ...call) => telemetry.toolCall(...call)));
    pipeline.aroundInputRequest(ofRecorded(journalInputRequest));
    pipeline.onModelRequestRetrying(({ context, attempt, delayMs, error }) => {
      const run = runOf(context);
      const { agentId, runId } = run;
      const { nodeId } = context;
      recorders
        .find(run)
        ?.setup.tell({ type: "model_retry", agentId, runId, ...eventLine(run), nodeId, attempt, delayMs, error });
    });
    pipeline.onBranchFailed(({ run, nodeId, error }) => {
      const { agentId, runId, signal } = run;
      const recorder = recorders.find(run);
      if (signal.aborted || !recorder) return;
      recorder.setup.tell({ type: "branch_failed", agentId, runId, ...eventLine(run), nodeId, error });
    });
    pipeline.onLineWaiting(({ run, requests }) => LiveRequests.of(recorders.of(run).journal).open(run, requests));
    pipeline.onAgentWaiting(({ run, requests }) => LiveRequests.of(recorders.of(run).journal).close(requests));
    saveAtEvents(pipeline, setup);
    const feature = new PersistenceFeature(setup);
    config.retentionSchedule?.start(feature);
    return feature;
  },
};

/**
 * Returns the persistence of a run for its context, or the persistence of an agent definition.
 *
 * @throws FeatureNotInstalledError, InvalidInputError
 *
 * @example
 * ```ts
 * const durable = persistence(agent).agent("team-7");
 * for (const { requestId, waitingFor } of await durable.getRequests()) {
 *   if (waitingFor === "human_approval") await durable.answer(requestId, { approved: true });
 * }
 * ```
 */
export function persistence(context: AgentContext): RunPersistence;
export function persistence(agent: AIAgent<never, unknown>): PersistenceFeature;
export function persistence(of: AgentContext | AIAgent<never, unknown>): RunPersistence | PersistenceFeature {
  if (of instanceof AIAgent) return of.feature(Persistence);
  if (typeof (Object(of) as Partial<AgentContext>).feature === "function") return of.feature(Persistence).of(of);
  throw new InvalidInputError("argument of persistence()", [
    { path: "", expected: "expected an agent, or the context of a node or a tool" },
  ]);
}

/** Calls `action` with the persistence of a context and returns the result. @throws FeatureNotInstalledError */
export function withPersistence<Result>(
  context: AgentContext,
  action: (persistence: RunPersistence, context: AgentContext) => Result,
): Result {
  return action(persistence(context), context);
}

type Show<Event, Result> = (
  telemetry: AgentTelemetry,
  recorder: RunRecorder,
  event: Event,
  next: Next<Event, Result>,
  perform: Perform<Event, Result>,
) => Promise<Result>;

/** Wraps an interceptor, so that it applies only to recorded runs. @param show Shows the event in telemetry. */
function ofRecorded<Event extends { readonly context: AgentContext }, Result>(
  hook: (recorder: RunRecorder, event: Event, next: Next<Event, Result>) => Promise<Result>,
  show?: Show<Event, Result>,
): Perform<Event, Result> {
  return (event, next) => {
    const recorder = recorders.find(runOf(event.context));
    if (!recorder) return next(event);
    const { telemetry } = recorder.setup;
    const perform: Perform<Event, Result> = (asked, ask) => hook(recorder, asked, ask);
    return show && telemetry ? show(telemetry, recorder, event, next, perform) : perform(event, next);
  };
}

function saveAtEvents(pipeline: FeaturePipeline, setup: PersistenceSetup): void {
  pipeline.onStrategyStarting(async ({ run, next }) => {
    await noteEnvironment(setup.environment, run.state);
    await recorders.find(run)?.begin(run, next);
  });
  pipeline.onRunMoved(({ run, next }) => recorders.find(run)?.begin(run, next));
  pipeline.onForkStarting(({ run, nodeId, input, keys }) => {
    const recorder = recorders.find(run);
    if (!recorder) return;
    recorder.beginFork(run, nodeId, input);
    assertBranchesKept(recorder, nodeId, keys);
  });
  pipeline.onBranchStarting(({ run, next }) => recorders.find(run)?.begin(run, next));
  pipeline.onBranchesJoined(({ run, nodeId, input, results }) =>
    recorders.find(run)?.join(run, nodeId, input, results),
  );
  pipeline.onNodeStarting(({ run, nodeId, context }) => {
    const recorder = recorders.find(run);
    recorder?.enterNode(run, nodeId);
    recorder?.recording?.expectEnds(context);
  });
  pipeline.onNodeCompleted(async ({ run, next, nodeId, context }) => {
    const recorder = recorders.find(run);
    if (!recorder) return;
    recorder.recording?.assertComplete(recorder.journal.agentId, nodeId, visitIn(visitOf(context)));
    if (setup.trimming) await (await import("./trimming/trimHistory.ts")).trimHistory(recorder.setup, run);
    if (recorder.journal.keeps !== "nothing") recorder.calls.forget(run.state.history);
    if (setup.environment) await noteEnvironment(setup.environment, run.state);
    const due =
      next.nodeId === "finish"
        ? undefined
        : dueBetween(recorder, { kind: "node_completed", nodeId, left: next.left }, run, next);
    await recorder.leaveNode(run, next, due);
  });
  pipeline.onNodeFailed(async ({ run, nodeId, error, unresolved }) => {
    const recorder = recorders.find(run);
    if (recorder && failedCallsIn(error).length > 0)
      for (const failure of [error, ...recorder.calls.failures])
        for (const call of failedCallsIn(failure)) recorder.journal.failedCalls.add(call);
    // If an edge of this node matched in an earlier attempt, a resume repeats the node to find the later records.
    if (unresolved && !recorder?.recording?.reaches(run))
      await recorder?.leaveUnresolved(run, nodeId, unresolved.output);
  });
}

/**
 * Rejects a parallel node without a branch that has already started, because a renamed branch would repeat its work.
 * @throws BranchesChangedError
 */
function assertBranchesKept({ stored, forks, journal }: RunRecorder, nodeId: string, keys: readonly string[]) {
  const places = forks.version === undefined ? [] : (stored?.branchesOf(forks.version) ?? []);
  const now = new Set(keys);
  const begun = places.flatMap((place) => ("branch" in place ? [place.branch] : []));
  const missing = begun.filter((key) => !now.has(key));
  if (missing.length > 0) throw new BranchesChangedError(journal.agentId, nodeId, missing, keys);
}

function participantContext(setup: PersistenceSetup): ParticipantContext {
  const { folder } = setup.log.capabilities;
  const participants = () => import("./rollback/participants.ts");
  return {
    get agentId() {
      return setup.lastAgentId;
    },
    ...(folder !== undefined && { storageFolder: folder }),
    request: async (...of) => (await participants()).participantRequestAt(setup, ...of),
    notesBefore: async (...of) => (await participants()).participantNotesBefore(setup, ...of),
    content: async (...of) => (await participants()).participantContent(setup, ...of),
  };
}
