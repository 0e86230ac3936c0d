import type { FileReservation, StateData } from "../../checkpoint/status/TaskStatus.ts";
import { AgentCopiedError, AgentMovedError } from "../../errors/agentErrors.ts";
import { StatusChangedError } from "../../errors/runErrors.ts";
import { CorruptBlobError, UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { AgentBusyError, NotSupportedError, OwnershipLostError } from "../../errors/storageErrors.ts";
import { TaskNotFoundError, TransitionNotAllowedError } from "../../errors/taskErrors.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { mergeSorted } from "../../internal/mergeSorted.ts";
import type { AgentSummary, ListOptions } from "../../storage/RecordLog.ts";
import { compareText, isOwned, isAboutOneAgent } from "../../storage/summaries.ts";
import { openRequests } from "../../checkpoint/state/openRequests.ts";
import { agentSummary } from "../../journal/agentSummary.ts";
import { readHead } from "../../storage/readHead.ts";
import { hasStateData } from "../state/transitionTask.ts";
import { isInQueue } from "./taskOrder.ts";
import { listQueue, QueuedTasks, type QueueScope } from "./QueuedTasks.ts";
import type { TaskLogs } from "./TaskLogs.ts";

/** A task without an owner that a worker may claim. */
export interface ClaimableTask {
  readonly taskId: string;
  readonly taskName: string;
  /**
   * Why the task has no owner. `in_progress`: its process ended before the task did. `waiting`: its wait has expired.
   * `failed`: its retry is due.
   */
  readonly status: "queued" | "in_progress" | "waiting" | "failed";
  readonly priority: number;
  readonly reserves: readonly FileReservation[];
  /** ISO 8601. The time of the last status change. */
  readonly updatedAt: string;
  /** How often the task was started or continued since its last progress. 0 if it was never started. */
  readonly attempts: number;
  /** The number of checkpoints in the summary. A task in progress can have more. `undefined` if unknown. */
  readonly checkpoints?: number;
  /** Whether its run has open requests that an answer can resolve. */
  readonly asks: boolean;
  /** How often a failed task was retried. */
  readonly retries?: number;
  readonly queue?: string;
  readonly key?: string;
  /** ISO 8601. The task must be cancelled if it is still queued at this time. */
  readonly expiresAt?: string;
}

/**
 * Lists the claimable tasks of a queue by priority. Among tasks of equal priority, interrupted tasks come first, then
 * overdue tasks and retries, then the queued tasks by age.
 *
 * @param scope.queue defaults to the tasks without a queue.
 */
export async function* claimableTasks(logs: TaskLogs, scope: QueueScope = {}): AsyncGenerator<ClaimableTask> {
  const { queue } = scope;
  const dueBefore = new Date(logs.clock.now()).toISOString();
  const lists: readonly ListOptions[] = [
    { status: "in_progress", free: true },
    { status: ["waiting", "failed"], free: true, dueBefore },
  ];
  const tasks = [
    ...lists.map((options) => listTasks(listQueue(logs.log, options, queue))),
    wokenTasks(logs, queue),
    listTasks(new QueuedTasks(logs, scope)),
  ];
  for await (const summary of mergeSorted(tasks, (a, b) => (b.priority ?? 0) - (a.priority ?? 0))) {
    // Another process may own the task since the listing. The next owner checks this again.
    if (!logs.log.capabilities.narrows && (await isOwned(logs.log, summary.agentId))) continue;
    const task = await claimable(logs, summary);
    if (task) yield task;
  }
}

type ListedTask = AgentSummary & { readonly taskName: string };

async function* listTasks(summaries: AsyncIterable<AgentSummary>): AsyncGenerator<ListedTask> {
  for await (const summary of summaries) if (isTask(summary)) yield summary;
}

function isTask(summary: AgentSummary): summary is ListedTask {
  return summary.taskName !== undefined;
}

/** The sort keys of the waiting tasks that had an event at the last list, by id. */
const wokenOrders = new WeakMap<TaskLogs, Map<string, string>>();

/**
 * Lists the waiting tasks whose inbox contains the event that they wait for. Reads new tasks, and each known task only
 * at its turn, so that the cost of a claim does not grow with the number of tasks.
 */
async function* wokenTasks(logs: TaskLogs, queue: string | undefined): AsyncGenerator<ListedTask> {
  const known = wokenOrders.get(logs) ?? new Map<string, string>();
  wokenOrders.set(logs, known);
  const news = await readNews(logs, known);
  for (const agentId of known.keys()) if (!news.has(agentId)) known.delete(agentId);
  for (const [agentId, { order }] of news) known.set(agentId, order);
  const due = [...news].filter(([, { order }]) => isInQueue(order, queue));
  for (const [agentId, { read }] of due.sort(([, a], [, b]) => compareText(a.order, b.order))) {
    const task = read ?? (await readWoken(logs, agentId));
    if (task && isInQueue(task.order, queue)) yield task;
    else known.delete(agentId);
  }
}

/** A waiting task whose inbox has changed. `read` is `undefined` for a task of the last list. */
interface NewsOfTask {
  readonly order: string;
  readonly read: ListedTask | undefined;
}

/** Returns the tasks in a new map, because a concurrent list can remove tasks from `known`. */
async function readNews(logs: TaskLogs, known: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, NewsOfTask>> {
  const news = new Map<string, NewsOfTask>();
  for await (const agentId of logs.inbox.news()) {
    const read = known.has(agentId) ? undefined : await readWoken(logs, agentId);
    const order = read?.order ?? known.get(agentId);
    if (order !== undefined) news.set(agentId, { order, read });
  }
  return news;
}

async function readWoken(logs: TaskLogs, agentId: string): Promise<ListedTask | undefined> {
  if (await isOwned(logs.log, agentId)) return undefined;
  return ifReadable(() => wokenTask(logs, agentId)).catch(ifInboxFree);
}

/** Ignores an inbox that a sender owns. The worker finds the task at a later poll. */
function ifInboxFree(error: unknown): undefined {
  if (!(error instanceof AgentBusyError || error instanceof OwnershipLostError)) throw error;
}

async function wokenTask(logs: TaskLogs, agentId: string): Promise<ListedTask | undefined> {
  let summary: AgentSummary | undefined;
  const isDue = await logs.inbox.continues(agentId, async () => {
    // Reads the owner first. If the owner ends before the log is read, the log contains all requests of the owner.
    if (await isOwned(logs.log, agentId)) return undefined;
    using head = await readHead(logs.log, agentId);
    const { log, state } = head;
    summary = agentSummary(agentId, log.index.statusState);
    // An agent without a task is continued by its caller, who needs no list.
    const isWaiting = summary?.status === "waiting" && isTask(summary);
    return isWaiting && state ? openRequests(log.index, state).map(({ record }) => record) : [];
  });
  return isDue && summary && isTask(summary) ? summary : undefined;
}

async function claimable(logs: TaskLogs, summary: ListedTask): Promise<ClaimableTask | undefined> {
  const { agentId: taskId, taskName, updatedAt, requestIds, priority = 0, checkpoints } = summary;
  const { queue, key } = summary.controls ?? {};
  const expiresAt = await expiryOf(logs, summary);
  const status = summary.status as ClaimableTask["status"];
  const retries = status === "failed" ? (summary.data as StateData["failed"]).retryCount : undefined;
  const listed = {
    taskId,
    taskName,
    status,
    priority,
    updatedAt,
    asks: requestIds.length > 0,
    checkpoints,
    retries,
    queue,
    key,
    expiresAt,
  };
  const rest = inSummary(summary) ?? (await inLog(logs, summary));
  return rest && { ...withoutUndefined(listed), ...rest };
}

/** Returns `undefined` for a task that started in time, and is queued again for a retry. */
async function expiryOf(logs: TaskLogs, { agentId, status, controls }: AgentSummary): Promise<string | undefined> {
  const { expiresAt } = controls ?? {};
  if (status !== "queued" || expiresAt === undefined || Date.parse(expiresAt) > logs.clock.now()) return expiresAt;
  const life = await ifReadable(() => logs.life(agentId));
  return life?.startedAt === undefined ? expiresAt : undefined;
}

type Rest = Pick<ClaimableTask, "attempts" | "reserves">;

/**
 * Reads the task from its summary. A failed task has no attempts, because its retry counts anew. Returns `undefined` if
 * the summary may count too many attempts, or if an earlier version wrote it.
 */
function inSummary(summary: AgentSummary): Rest | undefined {
  const { status, reserves, attempts } = summary;
  if (!hasStateData(summary)) return undefined;
  if (reserves && status === "failed") return { attempts: 0, reserves };
  if (reserves && attempts !== undefined && attempts <= 1) return { attempts, reserves };
  return status === "queued"
    ? { attempts: 0, reserves: (summary.data as StateData["queued"]).reserves ?? [] }
    : undefined;
}

/** Reads the task from its log. Returns `undefined` if the owner has finished the task since it was listed. */
async function inLog(logs: TaskLogs, { agentId, status }: AgentSummary): Promise<Rest | undefined> {
  const recorded = await ifReadable(() => logs.life(agentId));
  if (!recorded) return { attempts: 0, reserves: [] };
  const { task, attempts, current } = recorded;
  if (current?.status !== status) return undefined;
  return { attempts: status === "failed" ? 0 : attempts, reserves: task?.reserves ?? [] };
}

/** Returns `undefined` for an unreadable task. The worker that claims the task gets the error. */
export async function ifReadable<Result>(known: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await known();
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return undefined;
  }
}

const overtaken = [
  AgentBusyError,
  OwnershipLostError,
  StatusChangedError,
  TransitionNotAllowedError,
  TaskNotFoundError,
  AgentMovedError,
  AgentCopiedError,
];

/** Returns whether another process claimed, changed, moved or deleted the task first. */
export function isOvertaken(error: unknown): boolean {
  return overtaken.some((kind) => error instanceof kind);
}

const unreadableErrors = [CorruptBlobError, UnreadableValueError, NotSupportedError];

/** Returns whether an error concerns a single unreadable task, such as one that needs a vault. */
export function isUnreadable(error: unknown): boolean {
  return isAboutOneAgent(error) || unreadableErrors.some((kind) => error instanceof kind);
}
