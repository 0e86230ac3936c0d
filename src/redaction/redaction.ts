import { z } from "zod";
import { isRepeatable } from "../agent/tool/recordedCall.ts";
import { subAgentOf } from "../agent/agentAsTool/agentAsTool.ts";
import type { FeaturePipeline } from "../agent/feature/FeaturePipeline.ts";
import type { AnyTool } from "../agent/tool/Tool.ts";
import { DataKeys } from "../encryption/keys/DataKeys.ts";
import { KeyLog } from "../encryption/keys/KeyLog.ts";
import { VaultRequiredError } from "../errors/encryptionErrors.ts";
import { NotSupportedError } from "../errors/storageErrors.ts";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { functionSchema } from "../internal/options/optionSchemas.ts";
import { redactedPathSchema, pathText, type RedactedPath, redactedPath } from "../internal/options/redactedPath.ts";
import { type KeySource, keySourceSchema } from "../storage/KeySource.ts";
import { LogPersistenceStorageProvider } from "../storage/LogPersistenceStorageProvider.ts";
import { type PersistenceStorageProvider, providerSchema, withLog } from "../storage/PersistenceStorageProvider.ts";
import { Telemetry } from "../telemetry/Telemetry.ts";
import type { TelemetryFacts, TelemetryOperation, TelemetrySpan } from "../telemetry/TelemetryOperation.ts";
import { RedactedRecordLog, RedactedStorage, type SecretTool } from "./log/RedactedRecordLog.ts";
import { secretPaths } from "./secret.ts";
import { SecretsOfAgents, KnownSecrets } from "./values/KnownSecrets.ts";
import { placesAt, placesOfField, root, type RedactionRules, redactedText } from "./values/ValueWalk.ts";
import { shownNames, shownStructures } from "./values/libraryFields.ts";
import { StoredValueWalk } from "./values/StoredValueWalk.ts";
import type { PersistenceEvent, PersistenceListener } from "../listeners/PersistenceEvent.ts";

/** The options of `install(Persistence, …)` to which a redaction applies. */
export interface RedactedOptions {
  readonly storage?: PersistenceStorageProvider | undefined;
  readonly onEvent?: PersistenceListener | undefined;
  readonly onListenerError?: ((error: unknown, event: PersistenceEvent) => unknown) | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly rollbackToolRegistry?: { has(toolName: string): boolean } | undefined;
}

/** Redacts values before they are stored, as `redaction()` of `agent-persistence/encryption` does. */
export interface Redactor {
  /**
   * Returns the options with a redacted storage, listener and telemetry. `install` and task managers call this method,
   * even with options that it has already returned.
   *
   * @param agent - the definition of an agent. Omitted by task managers.
   * @throws VaultRequiredError if a redacted value is needed later and there is no vault.
   */
  apply<Options extends RedactedOptions>(options: Options, agent?: Pick<FeaturePipeline, "tools">): Options;
  /** Called before a tool call with its input, so that errors, events and telemetry do not show the redacted values. */
  input(agentId: string, toolName: string, input: unknown): void;
  /** Returns the output of a tool as the run, the model and the storage receive it. */
  output(toolName: string, output: unknown): unknown;
}

export interface Vault {
  /** The keys that encrypt the data key of each agent, as for `encrypted()`. */
  readonly keys: KeySource;
  /** The storage of the encrypted data keys. Required for an encrypted storage. Defaults to the redacted storage. */
  readonly keyStorage?: PersistenceStorageProvider | undefined;
}

export interface RedactionOptions {
  /**
   * Paths of values to redact, including all nested values, as for timelines. A path matches at any depth, `*` matches
   * one key, and `\.` is a dot in a key. The values of a tool call are at `<tool>.input` and `<tool>.output`, and
   * storage values at `storage.<key>`. Defaults to the fields that {@link secret} marks.
   */
  readonly paths?: readonly string[] | undefined;
  /**
   * Returns a text without its secrets. Called for each text, and the log contains the result. If the function throws
   * or returns no text, the whole text is redacted. Requires a vault.
   */
  readonly text?: ((text: string) => string) | undefined;
  /**
   * Keeps redacted values encrypted in the storage, and restores them for runs. Without a vault, only outputs of tools
   * with effect `none` or `idempotent` can be redacted, and the run does not receive these outputs either.
   */
  readonly vault?: Vault | undefined;
}

const optionsSchema = strictOptions(() => ({
  paths: z.array(redactedPathSchema).readonly().optional(),
  text: functionSchema().optional(),
  vault: strictOptions(() => ({ keys: keySourceSchema, keyStorage: providerSchema.optional() })).optional(),
}));

/**
 * Returns the `redact` option of `install(Persistence, …)`. Use one redaction for all agents and task managers of a
 * storage.
 *
 * @throws InvalidInputError if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * const redact = redaction({ paths: ["charge.input.card.number"], vault: { keys } });
 * const agent = new AIAgent({ promptExecutor, llmModel, tools: [charge] }).install(Persistence, { storage, redact });
 * ```
 */
export function redaction(options: RedactionOptions): StorageRedaction {
  checkSchema(optionsSchema, options, "options of redaction()");
  return new StorageRedaction(options);
}

export class StorageRedaction implements Redactor {
  readonly #vault: Vault | undefined;
  readonly #paths: RedactedPath[];
  readonly #rules: RedactionRules;
  readonly #secrets = new SecretsOfAgents();
  readonly #shown: ShownValues;
  readonly #redacted = new WeakMap<object, unknown>();

  /** @internal Use {@link redaction}. */
  constructor({ paths = [], text, vault }: RedactionOptions) {
    this.#vault = vault;
    this.#paths = paths.map((path) => redactedPath(path) ?? []);
    this.#rules = { paths: this.#paths, text };
    this.#shown = new ShownValues(this.#rules, this.#secrets);
  }

  /**
   * Returns a storage for sessions and other runtimes. Its readers get the original values. `install` does not need it.
   * {@link secret} works in the tools of `durableTools()`. For other tools of these runtimes, use `paths`.
   *
   * @throws NotSupportedError without a vault, or if the storage has no log.
   */
  storage(storage: PersistenceStorageProvider): LogPersistenceStorageProvider {
    checkSchema(providerSchema, storage, "storage of a redaction");
    const redacted = this.#storage(storage);
    if (redacted instanceof LogPersistenceStorageProvider && this.#vault) return redacted;
    throw new NotSupportedError("storage()", "a redaction with a vault");
  }

  apply<Options extends RedactedOptions>(options: Options, agent?: Pick<FeaturePipeline, "tools">): Options {
    const { storage, onEvent, onListenerError, telemetry } = options;
    if (agent) this.#addTools(agent, options);
    const shown = this.#shown;
    return {
      ...options,
      ...(storage && { storage: this.#storage(storage) }),
      ...(onEvent && {
        onEvent: this.#once(onEvent, (): typeof onEvent => (event) => onEvent(shown.of(event.agentId, event))),
      }),
      ...(onListenerError && {
        onListenerError: this.#once(
          onListenerError,
          (): typeof onListenerError => (error, event) => onListenerError(error, shown.of(event.agentId, event)),
        ),
      }),
      ...(telemetry && { telemetry: this.#once(telemetry, () => new RedactedTelemetry(telemetry, shown)) }),
    };
  }

  input(agentId: string, toolName: string, input: unknown): void {
    this.#shown.of(agentId, { input }, toolName);
  }

  output(toolName: string, output: unknown): unknown {
    return this.#vault ? output : this.#shown.output(toolName, output);
  }

  #addTools({ tools }: Pick<FeaturePipeline, "tools">, { rollbackToolRegistry }: RedactedOptions): void {
    const known = [...toolsWithin(tools)];
    this.#addInputsOf(known);
    if (!this.#vault) this.#assertNotNeeded(known, rollbackToolRegistry);
  }

  #addInputsOf(tools: readonly SecretTool[]): void {
    for (const { name, inputSchema } of tools)
      for (const path of secretPaths(inputSchema)) this.#add([name, "input", ...path]);
  }

  #add(path: RedactedPath): void {
    if (!this.#paths.some((known) => pathText(known) === pathText(path))) this.#paths.push(path);
  }

  #assertNotNeeded(tools: readonly AnyTool[], inverses: RedactedOptions["rollbackToolRegistry"]): void {
    if (this.#rules.text) throw new VaultRequiredError(undefined, undefined, "a resume needs them");
    for (const path of this.#paths) {
      const [name, field] = path;
      const tool = tools.find((each) => each.name === name);
      const reason = field === "output" && tool ? whyNeeded(tool, inverses) : "a resume needs them";
      if (reason !== undefined) throw new VaultRequiredError(tool?.name, pathText(path), reason);
    }
  }

  #storage(storage: PersistenceStorageProvider): PersistenceStorageProvider {
    const vault = this.#vault;
    return vault ? this.#once(storage, () => this.#protected(storage, vault)) : storage;
  }

  #protected(
    storage: PersistenceStorageProvider,
    { keys, keyStorage = storage }: Vault,
  ): LogPersistenceStorageProvider {
    const [stored, ofKeys] = [withLog(storage, "redaction()"), withLog(keyStorage, "redaction()")];
    const sha256 = () => stored.sha256();
    const dataKeys = new DataKeys(new KeyLog(ofKeys.log, sha256), keys);
    const log = new RedactedRecordLog(stored.log, {
      keys: dataKeys,
      rules: this.#rules,
      secrets: this.#secrets,
      sha256,
    });
    // Blobs are encrypted, so compression would not make them smaller.
    const options = { inlineThresholdBytes: stored.inlineThresholdBytes, compressThresholdBytes: Infinity };
    return new RedactedStorage(log, options, (tools) => this.#addInputsOf(tools));
  }

  /** Redacts an object once. The same object gives the same result, and a result is returned unchanged. */
  #once<Given extends object>(given: Given, redact: () => Given): Given {
    const known = this.#redacted.get(given) as Given | undefined;
    if (known) return known;
    const redacted = redact();
    this.#redacted.set(given, redacted);
    this.#redacted.set(redacted, redacted);
    return redacted;
  }
}

/** Returns why a run needs the stored output of a tool. `undefined` if no run needs it. */
function whyNeeded(tool: AnyTool, inverses: RedactedOptions["rollbackToolRegistry"]): string | undefined {
  if (inverses?.has(tool.name)) return "the inverse of the tool needs them";
  if (subAgentOf(tool)) return "the agent of the tool needs them when it resumes";
  if (!isRepeatable(tool.effect))
    return 'a call in doubt can need them, because the effect of the tool is neither "none" nor "idempotent"';
  return undefined;
}

/** Returns the given tools, and the tools of all agents among them. */
function toolsWithin(tools: ReadonlyMap<string, AnyTool>, found: Set<AnyTool> = new Set()): ReadonlySet<AnyTool> {
  for (const tool of tools.values()) {
    if (found.has(tool)) continue;
    found.add(tool);
    const agent = subAgentOf(tool);
    if (agent) toolsWithin(agent.definition.tools, found);
  }
  return found;
}

/** Passes operations to a telemetry without redacted values. */
class RedactedTelemetry extends Telemetry {
  override readonly content: boolean | undefined;
  readonly #telemetry: Telemetry;
  readonly #shown: ShownValues;

  constructor(telemetry: Telemetry, shown: ShownValues) {
    super();
    this.content = telemetry.content;
    this.#telemetry = telemetry;
    this.#shown = shown;
  }

  override start(operation: TelemetryOperation): TelemetrySpan | undefined {
    const { agentId, toolName } = operation;
    const span = this.#telemetry.start(this.#shown.of(agentId, operation));
    if (!span) return undefined;
    return {
      trace: span.trace,
      run: (action) => span.run(action),
      end: (facts, failure) => {
        const { content, ...others } = facts;
        const shown: TelemetryFacts = {
          ...others,
          ...(content && { content: this.#shown.of(agentId, content, toolName) }),
        };
        span.end(shown, failure && this.#shown.of(agentId, failure));
      },
    };
  }
}

/** Returns values as events and telemetry show them, without their redacted parts. */
export class ShownValues {
  readonly #rules: RedactionRules;
  readonly #secrets: SecretsOfAgents;

  constructor(rules: RedactionRules, secrets: SecretsOfAgents) {
    this.#rules = rules;
    this.#secrets = secrets;
  }

  /** @param agentId - the agent whose secrets are also redacted. @param toolName - the tool of an input or output. */
  of<Value extends object>(agentId: string | undefined, value: Value, toolName?: string): Value {
    const secrets = this.#secrets.of(agentId ?? "");
    // The first walk finds secrets that earlier fields can contain too.
    const walks = [
      new StoredValueWalk({
        rules: { paths: this.#rules.paths },
        secrets,
        replace: (found) => {
          secrets.add(found);
          return found;
        },
        replaceText: (found) => found,
      }),
      new StoredValueWalk({
        rules: this.#rules,
        secrets,
        replace: () => redactedText,
        replaceText: (_found, shown) => (shown === "" ? redactedText : shown),
      }),
    ];
    const fields = Object.entries(value);
    const shown = walks.map((walk) =>
      fields.map(([key, field]) => [key, shownField(walk, key, field, toolName)] as const),
    );
    return Object.fromEntries(shown.at(-1) ?? []) as Value;
  }

  output(toolName: string, output: unknown): unknown {
    const { paths } = this.#rules;
    const walk = new StoredValueWalk({
      rules: { paths },
      secrets: new KnownSecrets(),
      replace: () => redactedText,
      replaceText: () => redactedText,
    });
    return walk.value(output, placesAt(toolName, "output"));
  }
}

function shownField(walk: StoredValueWalk, key: string, field: unknown, toolName: string | undefined): unknown {
  if (shownNames.has(key)) return field;
  const [places, structure] = [placesOfField(root, key, toolName), shownStructures.get(key)];
  return structure ? walk.structure(field, places, structure) : walk.value(field, places);
}
