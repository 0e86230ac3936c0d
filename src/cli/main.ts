import { exitCodes, type ExitReason } from "./terminal/CommandFailure.ts";
import { commandLine, marked } from "./commandLine.ts";
import { ClosedOutputError, type CommandIo } from "./terminal/CommandIo.ts";
import { failureReport } from "./terminal/failureReport.ts";
import { jsonText, visibleLines } from "./terminal/visibleText.ts";

/** Runs the command line. @param args the arguments after the program name @returns the exit code */
export async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const isForPrograms = args.includes("--json");
  let ended: ExitReason = "done";
  const program = commandLine(io, isForPrograms, (reason) => {
    ended = reason;
  });
  try {
    await program.parseAsync(args.map(marked), { from: "user" });
    return exitCodes[ended];
  } catch (error) {
    if (error instanceof ClosedOutputError) return exitCodes.done;
    const { reason, code, message } = failureReport(error, { isForPrograms, isStopped: io.isStopped });
    if (message !== undefined) await io.err.write(`${said(code, message, isForPrograms)}\n`);
    return exitCodes[reason];
  }
}

function said(code: string, message: string, json: boolean): string {
  return json ? jsonText({ error: { code, message } }) : `agent-persistence: ${visibleLines(message)}`;
}
