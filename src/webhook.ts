export { createWebhook, type Webhook, type WebhookOptions } from "./integrations/webhook/createWebhook.ts";
