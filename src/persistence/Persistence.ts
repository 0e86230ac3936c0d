import { type AgentFeature, defaultAbortGrace, type FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { AgentContext } from "../agent/context/AgentContext.ts";
import { AIAgent } from "../agent/AIAgent.ts";
import { runOf, visitOf } from "../agent/feature/ContextBinding.ts";
import { InvalidInputError } from "../errors/agent/InvalidInputError.ts";
import { eventLine } from "../events/eventEmitter.ts";
import { beginAgentCall } from "./start/beginAgentCall.ts";
import { beginBranch } from "./start/beginBranch.ts";
import { dueTrigger } from "./record/saveIfDue.ts";
import { runOrResume } from "./run/runOrResume.ts";
import { journalInputRequest } from "./waiting/journalInputRequest.ts";
import { assertReplayComplete } from "./replay/discardReplay.ts";
import { journalModelRequest } from "./calls/journalModelRequest.ts";
import { journalToolCall } from "./calls/journalToolCall.ts";
import type { PersistenceConfig } from "./config/PersistenceConfig.ts";
import { noteEnvironment } from "../environment/Environment.ts";
import { PersistenceFeature } from "./PersistenceFeature.ts";
import { PersistenceSetup } from "./config/PersistenceSetup.ts";
import type { RunPersistence } from "./RunPersistence.ts";
import { trimHistory } from "./trimming/trimHistory.ts";
import { participantContext } from "./rollback/participants.ts";
import { RunRecorders } from "./record/RunRecorders.ts";
import { LiveRequests } from "./waiting/LiveRequests.ts";

/** Makes an agent durable: `agent.install(Persistence, { storage })`. */
export const Persistence: AgentFeature<PersistenceConfig, PersistenceFeature> = {
  key: "Persistence",
  install(pipeline, config) {
    const setup = new PersistenceSetup(config, pipeline);
    const recorders = new RunRecorders();
    for (const participant of setup.participants) participant.onInstall?.(participantContext(setup));
    pipeline.limitAborts({ ms: config.abortGraceMs ?? defaultAbortGrace.ms, clock: setup.clock });
    pipeline.claim("resume", "runId", "history", "unfinished", "requestInput");
    pipeline.aroundRun((request, next) => runOrResume(setup, recorders, request, next));
    pipeline.aroundBranch((event, next) => beginBranch(recorders, event, next));
    pipeline.aroundAgentCall((event, next) => beginAgentCall(recorders, event, next));
    pipeline.aroundModelRequest((event, next) => journalModelRequest(recorders.of(runOf(event.context)), event, next));
    pipeline.aroundToolCall((event, next) => journalToolCall(recorders.of(runOf(event.context)), event, next));
    pipeline.aroundInputRequest((event, next) => journalInputRequest(recorders.of(runOf(event.context)), event, next));
    pipeline.onModelRequestRetrying(({ context, attempt, delayMs, error }) => {
      const run = runOf(context);
      const { agentId, runId } = run;
      const { nodeId } = context;
      setup.tell({ kind: "model_retry", agentId, runId, ...eventLine(run), nodeId, attempt, delayMs, error });
    });
    pipeline.onBranchFailed(({ run, nodeId, error }) => {
      const { agentId, runId, signal } = run;
      if (!signal.aborted) setup.tell({ kind: "branch_failed", agentId, runId, ...eventLine(run), nodeId, error });
    });
    pipeline.onLineWaiting(({ run, requests }) => LiveRequests.of(recorders.of(run).journal).open(run, requests));
    pipeline.onAgentWaiting(async ({ run, requests }) => {
      const { journal } = recorders.of(run);
      recorders.waitsFor.set(journal, await LiveRequests.of(journal).close(requests));
    });
    saveAtEvents(pipeline, setup, recorders);
    const feature = new PersistenceFeature(setup, recorders);
    config.retentionSchedule?.start(feature);
    return feature;
  },
};

/** Persistence of a run, bound to its context, or of an agent, from outside. @throws FeatureNotInstalledError, InvalidInputError */
export function persistence(context: AgentContext): RunPersistence;
export function persistence(agent: AIAgent<never, unknown>): PersistenceFeature;
export function persistence(of: AgentContext | AIAgent<never, unknown>): RunPersistence | PersistenceFeature {
  if (of instanceof AIAgent) return of.feature(Persistence);
  if (typeof (Object(of) as Partial<AgentContext>).feature === "function") return of.feature(Persistence).of(of);
  throw new InvalidInputError("argument of persistence()", [
    { path: "", expected: "expected an agent, or the context of a node or a tool" },
  ]);
}

/** Calls `action` with the persistence of a context and returns its result. @throws FeatureNotInstalledError */
export function withPersistence<Result>(
  context: AgentContext,
  action: (persistence: RunPersistence, context: AgentContext) => Result,
): Result {
  return action(persistence(context), context);
}

function saveAtEvents(pipeline: FeaturePipeline, setup: PersistenceSetup, recorders: RunRecorders): void {
  pipeline.onStrategyStarting(async ({ run, next }) => {
    await noteEnvironment(setup.environment, run.state);
    await recorders.of(run).begin(run, next);
  });
  pipeline.onRunMoved(({ run, next }) => recorders.of(run).begin(run, next));
  pipeline.onForkStarting(({ run, nodeId, input }) => recorders.of(run).beginFork(run, nodeId, input));
  pipeline.onBranchStarting(({ run, next }) => recorders.of(run).begin(run, next));
  pipeline.onBranchesJoined(({ run, nodeId, input, results }) => recorders.of(run).join(run, nodeId, input, results));
  pipeline.onNodeStarting(({ run, nodeId }) => recorders.of(run).enterNode(run, nodeId));
  pipeline.onNodeCompleted(async ({ run, next, nodeId, context }) => {
    const { base, ordinal } = visitOf(context);
    assertReplayComplete(recorders.of(run), nodeId, [base, ordinal]);
    if (setup.trimming) await trimHistory(setup, run);
    if (setup.environment) await noteEnvironment(setup.environment, run.state);
    const recorder = recorders.of(run);
    const due =
      next.nodeId === "finish"
        ? undefined
        : dueTrigger(recorder, { kind: "node_completed", nodeId, left: next.left }, run, next);
    await recorder.leaveNode(run, next, due);
  });
  pipeline.onNodeFailed(async ({ run, nodeId, unresolved }) => {
    if (unresolved) await recorders.of(run).leaveUnresolved(run, nodeId, unresolved.output);
  });
}
