import { NotSupportedError } from "../../../errors/storageErrors.ts";
import { quoted } from "../../../errors/quoted.ts";
import type { RedactedStorage, SecretTool } from "../../../redaction/log/RedactedStorage.ts";
import { secretPaths } from "../../../redaction/secret.ts";
import type { LogStorage } from "../../../storage/LogStorage.ts";

/**
 * Redacts the fields that `secret()` marks in the schemas of tools, if the storage is redacted.
 *
 * @throws NotSupportedError if another storage wraps the redacted one, because the marks could not match.
 */
export function redactSecrets(
  storage: LogStorage,
  tools: readonly { readonly name: string; readonly schema?: unknown }[],
): void {
  if (!storage.log.capabilities.redacted) return;
  const marked = tools.flatMap(({ name, schema }) => (hasSecrets(schema) ? [{ name, inputSchema: schema }] : []));
  const [first] = marked;
  if (!first) return;
  const { redactInputsOf } = storage as Partial<RedactedStorage>;
  if (redactInputsOf) return redactInputsOf(marked);
  throw new NotSupportedError(
    `secret() of the tool ${quoted(first.name)}`,
    "the result of redact.storage() as storage",
  );
}

function hasSecrets(schema: unknown): schema is SecretTool["inputSchema"] {
  const { _zod: zod } = Object(schema) as { readonly _zod?: { readonly def?: unknown } };
  return typeof zod?.def === "object" && secretPaths(schema as SecretTool["inputSchema"]).length > 0;
}
