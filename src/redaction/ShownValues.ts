import { KnownSecrets, type SecretsOfAgents } from "./values/KnownSecrets.ts";
import { redactedText, type RedactionRules } from "./values/RedactionRules.ts";
import { shownNames, shownStructures } from "./values/libraryFields.ts";
import { StoredValueWalk } from "./values/StoredValueWalk.ts";
import { placesAt, placesOfField, root } from "./values/ValueWalk.ts";

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
    // The first walk finds the secrets of later fields.
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

  /** Returns the output of a tool without the values at redacted paths. */
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
