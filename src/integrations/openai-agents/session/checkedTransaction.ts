import { MemorySession, type SessionHistoryTransactionArgs, UserError } from "@openai/agents-core";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import { frozenCopy } from "../../../internal/frozenCopy.ts";

/**
 * Returns a copy of a valid transaction. Validation uses the SDK's own session, so that both accept the same
 * transactions.
 *
 * @throws InvalidInputError, which contains no content of the transaction
 */
export async function checkedTransaction(args: SessionHistoryTransactionArgs): Promise<SessionHistoryTransactionArgs> {
  const read = readOnce(args);
  const { transaction } = read;
  try {
    const items = transaction?.type === "replace_suffix" ? transaction.expectedSuffix : [];
    const session = new MemorySession({ initialItems: Array.isArray(items) ? items : [], logger: silent });
    await session.applyHistoryTransaction(read);
    return frozenCopy(read);
  } catch (error) {
    throw refusal(error instanceof UserError ? error.message : unsupported);
  }
}

const unsupported = "Session history transaction items contain invalid or unsupported data.";
const ignore = () => {};
const silent = {
  namespace: "agent-persistence",
  debug: ignore,
  error: ignore,
  warn: ignore,
  dontLogModelData: true,
  dontLogToolData: true,
};

/** Reads each member once, because members may be getters. */
function readOnce(args: SessionHistoryTransactionArgs): SessionHistoryTransactionArgs {
  try {
    const { operationId, transaction } = args;
    return { operationId, transaction };
  } catch {
    throw refusal("Session history transaction arguments are invalid.");
  }
}

function refusal(expected: string): InvalidInputError {
  return new InvalidInputError("transaction of a session", [{ path: "transaction", expected }]);
}
