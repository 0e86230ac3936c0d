import { randomId } from "../internal/randomId.ts";
import type { LogOwner } from "./RecordLog.ts";

/** Returns this process as an owner of a log. Each call returns a distinct owner. */
export function processOwner(): LogOwner {
  const { process } = globalThis as {
    readonly process?: { readonly pid?: number; readonly env?: { readonly HOSTNAME?: string } };
  };
  return { host: process?.env?.HOSTNAME ?? "local", processId: process?.pid ?? 0, nonce: randomId() };
}
