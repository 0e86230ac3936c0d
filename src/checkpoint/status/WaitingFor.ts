/** What a waiting run waits for. */
export type WaitingFor = "user_input" | "external_api" | "human_approval";
