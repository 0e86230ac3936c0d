import type { FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { PersistenceEvent, PersistenceListener } from "../listeners/PersistenceEvent.ts";
import type { PersistenceStorageProvider } from "../storage/PersistenceStorageProvider.ts";
import type { Telemetry } from "../telemetry/Telemetry.ts";

/** The options of `install(Persistence, …)` through which values leave a run. */
export interface RedactedOptions {
  readonly storage?: PersistenceStorageProvider | undefined;
  readonly onEvent?: PersistenceListener | undefined;
  readonly onListenerError?: ((error: unknown, event: PersistenceEvent) => void | PromiseLike<void>) | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly rollbackToolRegistry?: { has(toolName: string): boolean } | undefined;
}

/** Redacts values before they are stored. `redaction()` of `agent-persistence/encryption` returns a redactor. */
export interface Redactor {
  /**
   * Returns the options with a redacted storage, listener and telemetry. `install` and task managers call this, and may
   * call it again with the result.
   *
   * @param agent - the definition of an agent. Omitted by task managers.
   * @throws VaultRequiredError if a redacted value is needed later, and no vault keeps it.
   */
  apply<Options extends RedactedOptions>(options: Options, agent?: Pick<FeaturePipeline, "tools">): Options;
  /** Called before a tool call, so that errors, events and telemetry do not show the redacted values of the input. */
  input(agentId: string, toolName: string, input: unknown): void;
  /** Returns the output of a tool in the form that the run, the model and the storage get. */
  output(toolName: string, output: unknown): unknown;
}
