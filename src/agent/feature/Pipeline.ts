import {
  type AbortGrace,
  type Around,
  type ClaimableOption,
  defaultAbortGrace,
  type FeaturePipeline,
  type Listener,
  type PipelineInterceptors,
  type PipelineListeners,
  type PipelineWrappers,
} from "./FeaturePipeline.ts";
import type { PipelineEvents } from "./PipelineEvents.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { clockSchema, functionSchema, numberFrom } from "../../internal/options/optionSchemas.ts";
import { z } from "zod";

type EventOf<Name extends keyof PipelineInterceptors> = PipelineInterceptors[Name][0];
type ResultOf<Name extends keyof PipelineInterceptors> = PipelineInterceptors[Name][1];

export class Pipeline {
  readonly hooks: FeaturePipeline;
  abortGrace: AbortGrace = defaultAbortGrace;
  readonly #claimed = new Set<ClaimableOption>();
  readonly #listeners: { readonly [Name in keyof PipelineEvents]: Listener<PipelineEvents[Name]>[] } = {
    agentStarting: [],
    agentCompleted: [],
    agentFailed: [],
    agentWaiting: [],
    lineWaiting: [],
    lineContinued: [],
    forkStarting: [],
    branchStarting: [],
    branchCompleted: [],
    branchFailed: [],
    branchesJoined: [],
    strategyStarting: [],
    strategyCompleted: [],
    strategyFailed: [],
    runMoved: [],
    nodeStarting: [],
    nodeCompleted: [],
    nodeFailed: [],
    subgraphStarting: [],
    subgraphCompleted: [],
    subgraphFailed: [],
    modelRequestStarting: [],
    modelRequestCompleted: [],
    modelRequestRetrying: [],
    modelRequestFailed: [],
    toolCallStarting: [],
    toolCallCompleted: [],
    toolCallFailed: [],
  };
  readonly #wrappers: { readonly [Name in keyof PipelineInterceptors]: Around<EventOf<Name>, ResultOf<Name>>[] } = {
    run: [],
    branch: [],
    agentCall: [],
    node: [],
    modelRequest: [],
    toolCall: [],
    inputRequest: [],
  };

  constructor(
    agent: Pick<FeaturePipeline, "agentId" | "hasDefaultId" | "identity" | "graph" | "tools" | "toolTimeoutMs">,
  ) {
    this.hooks = {
      ...agent,
      ...(registrars("on", this.#listeners) as unknown as PipelineListeners),
      ...(registrars("around", this.#wrappers) as unknown as PipelineWrappers),
      countHooks: (...names) =>
        names.flatMap<unknown>((name) => [...{ ...this.#listeners, ...this.#wrappers }[name]]).length,
      claim: (...options) => {
        checkSchema(claimSchema, options, "options that a feature claims");
        for (const option of options) this.#claimed.add(option);
      },
      limitAborts: (grace) => {
        checkSchema(graceSchema, grace, "grace period of aborts");
        this.abortGrace = grace;
      },
    };
  }

  claims(option: ClaimableOption): boolean {
    return this.#claimed.has(option);
  }

  /** Calls `innermost` inside the interceptors of this name. The first installed interceptor is the outermost. */
  around<Name extends keyof PipelineInterceptors>(
    name: Name,
    event: EventOf<Name>,
    innermost: (event: EventOf<Name>) => Promise<ResultOf<Name>>,
  ): Promise<ResultOf<Name>> {
    const wrapped = this.#wrappers[name].reduceRight<typeof innermost>(
      (next, wrap) => async (inner) => wrap(inner, next),
      innermost,
    );
    return wrapped(event);
  }

  /** Calls the listeners of an event one at a time. Rejects with the first error, and the run then fails. */
  async emit<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    try {
      for (const listener of this.#listeners[name]) await listener(event);
    } catch (error) {
      markRunFailure(error);
      throw error;
    }
  }

  /** Emits an event after a failure and ignores errors of listeners, because the run already reports the failure. */
  async emitFailure<Name extends keyof PipelineEvents>(name: Name, event: PipelineEvents[Name]): Promise<void> {
    await this.emit(name, event).catch(() => undefined);
  }
}

const claimable = ["resume", "runId", "history", "unfinished", "whenBusy", "requestInput"] as const;
const claimSchema = z.array(z.enum(claimable satisfies readonly ClaimableOption[]));
const graceSchema = strictOptions(() => ({ ms: numberFrom(0), clock: clockSchema }));
const hookSchema = functionSchema();

function registrars(
  prefix: string,
  lists: Readonly<Record<string, unknown[]>>,
): Record<string, (hook: unknown) => void> {
  return Object.fromEntries(
    Object.entries(lists).map(([name, hooks]) => {
      const method = `${prefix}${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      const register = (hook: unknown) => {
        checkSchema(hookSchema, hook, `argument of ${method}()`);
        hooks.push(hook);
      };
      return [method, register];
    }),
  );
}

const runFailures = new WeakSet<object>();

/** Marks an error of a feature. The error fails the run even if node code catches it. */
export function markRunFailure(error: unknown): void {
  if (typeof error === "object" && error !== null) runFailures.add(error);
}

export function isRunFailure(error: unknown): boolean {
  return runFailures.has(Object(error) as object);
}
