import type { LogEnd } from "../../storage/RecordLog.ts";
import type { ValidationCheck } from "../../environment/CheckpointValidation.ts";

export function logComplete(end: LogEnd | string | undefined): ValidationCheck {
  if (typeof end === "string") return { ok: true, notChecked: end };
  if (end === undefined) return { ok: true, notChecked: "this storage cannot tell" };
  const { closed, tornTail } = end;
  if (closed) return { ok: true };
  if (tornTail === undefined)
    return {
      ok: true,
      notChecked: "the last owner of the log has not closed it: what is missing at its end leaves no trace",
    };
  const { file, line, bytes } = tornTail;
  const place = `line ${line} of ${file} is the beginning of an append (${bytes} bytes)`;
  return { ok: true, notChecked: `${place}: a crash cut it before it was stored, or damage did so after` };
}
