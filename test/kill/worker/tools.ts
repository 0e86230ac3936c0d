import { setTimeout as delay } from "node:timers/promises";
import { tool, type ToolCallOptions } from "agent-persistence";
import { z } from "zod";
import type { Halt } from "./Halt.ts";
import type { Ledger } from "./Ledger.ts";
import type { Trace } from "../judge/Trace.ts";

export interface ToolsOptions {
  readonly ledger: Ledger;
  readonly trace: Trace;
  readonly halt: Halt;
  readonly settled: boolean;
}

const Booking = z.object({ account: z.string(), amount: z.int() });

/** Long enough for a kill to fall into it. */
const momentMs = 2;

/** The tools of the run: of every effect that a call may have. */
export function ledgerTools({ ledger, trace, halt, settled }: ToolsOptions) {
  const traced = async <Output>(tool: string, call: string, effect: () => Output): Promise<Output> => {
    trace.add({ kind: "started", call });
    await halt.pass("before", { tool, call });
    await delay(momentMs);
    const output = effect();
    await halt.pass("after", { tool, call });
    await delay(momentMs);
    trace.add({ kind: "finished", call });
    return output;
  };
  const book =
    (name: string) =>
    (booking: z.infer<typeof Booking>, { toolCallId }: ToolCallOptions) =>
      traced(name, toolCallId, () => ({
        receipt: ledger.book({ ...booking, tool: name, toolCallId, receipt: globalThis.crypto.randomUUID() }),
      }));

  return {
    look: tool({
      name: "look",
      description: "Tells what an account is worth.",
      inputSchema: z.object({ account: z.string() }),
      effect: "none",
      execute: ({ account }, { toolCallId }) => traced("look", toolCallId, () => ({ worth: account.length })),
    }),
    charge: tool({
      name: "charge",
      description: "Books an amount on an account.",
      inputSchema: Booking,
      // The key of the ledger makes it so.
      effect: "idempotent",
      execute: book("charge"),
    }),
    /** Without a declared effect a call is irreversible. */
    transfer: tool({
      name: "transfer",
      description: "Transfers an amount to an account.",
      inputSchema: Booking,
      ...(settled && { effect: "idempotent" as const }),
      execute: book("transfer"),
    }),
    refuse: tool({
      name: "refuse",
      description: "Refuses.",
      inputSchema: z.object({ account: z.string() }),
      effect: "idempotent",
      execute: ({ account }, { toolCallId }) =>
        traced("refuse", toolCallId, (): never => {
          trace.add({ kind: "finished", call: toolCallId });
          throw new Error(`${account} is closed`);
        }),
    }),
  };
}

export type LedgerTools = ReturnType<typeof ledgerTools>;
