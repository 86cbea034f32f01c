/**
 * Names and forms of what openbuffer adds to LSP. `bridge/PROTOCOL.md` is the reference; a test of the repository keeps the
 * two together, member by member.
 */
import type { TextEdit } from "vscode-languageserver-types";

/** The version of PROTOCOL.md that this client speaks. */
export const PROTOCOL_VERSION = 1;

export const LIST_TOOLS = "openbuffer/listTools";
export const CALL_TOOL = "openbuffer/callTool";
export const TRUST_CHANGED = "openbuffer/didChangeWorkspaceTrust";
export const UNSYNCHRONIZED_CHANGED = "openbuffer/didChangeUnsynchronizedDocuments";

export const READ_DOCUMENT = "openbuffer/readDocument";
export const APPLY_EDIT = "openbuffer/applyEdit";
export const SAVE_DOCUMENT = "openbuffer/saveDocument";
export const RELOAD_DOCUMENT = "openbuffer/reloadDocument";
export const WITHDRAW_DIALOG = "openbuffer/withdrawDialog";
export const REQUEST_PERMISSION = "openbuffer/requestPermission";
export const ASK_USER = "openbuffer/askUser";
export const TOOLS_CHANGED = "openbuffer/toolsChanged";

/** What is announced under `capabilities.experimental.openbuffer`. */
export const CLIENT_CAPABILITIES: ClientCapabilities = {
  protocolVersion: PROTOCOL_VERSION,
  readDocument: true,
  applyEdit: true,
  saveDocument: true,
  reloadDocument: true,
  withdrawDialog: true,
  requestPermission: true,
  askUser: true,
  toolsChanged: true,
};

export interface ClientCapabilities {
  protocolVersion: number;
  readDocument?: boolean;
  applyEdit?: boolean;
  saveDocument?: boolean;
  reloadDocument?: boolean;
  withdrawDialog?: boolean;
  requestPermission?: boolean;
  askUser?: boolean;
  toolsChanged?: boolean;
}

export interface OpenbufferCapabilities {
  protocolVersion: number;
}

export interface WorkspaceTrustParams {
  trusted: boolean;
}

export interface UnsynchronizedDocumentsParams {
  documents: UnsynchronizedDocument[];
}

export interface UnsynchronizedDocument {
  uri: string;
  reason: string;
}

export interface ListToolsResult {
  tools: ToolDescription[];
  withheld?: WithheldTools;
}

export interface WithheldTools {
  tools: string[];
  reason: string;
}

export interface ToolDescription {
  name: string;
  description: string;
  inputSchema: { [key: string]: unknown };
  capabilities: string[];
}

export interface CallToolParams {
  name: string;
  arguments?: object;
  workDoneToken?: string | number;
}

export interface CallToolResult {
  name: string;
  isError: boolean;
  data?: unknown;
  error?: ToolError;
  toolsChanged?: boolean;
}

export interface ToolError {
  type: string;
  message: string;
  reason?: string;
}

export interface WireDocument {
  uri: string;
  version?: number;
}

export interface DocumentState {
  version: number;
  textHash: string;
  dirty: boolean;
  autosave?: string;
  text?: string;
}

export interface ReadDocumentParams {
  textDocument: WireDocument;
  includeText?: boolean;
}

export interface ApplyEditParams {
  textDocument: WireDocument;
  textHash: string;
  edits: TextEdit[];
  label: string;
  dialogId: string;
}

export interface SaveDocumentParams {
  textDocument: WireDocument;
  textHash: string;
  diskHash: string | null;
  dialogId: string;
}

export interface DocumentActionResult {
  done: boolean;
  reason?: string;
  document?: DocumentState | null;
}

export interface WithdrawDialogParams {
  dialogId: string;
}

export interface RequestPermissionParams {
  dialogId: string;
  message: string;
  callId: string;
  tool: string;
  capabilities: string[];
  reason: string;
  targets: PermissionTarget[];
  change?: PermissionChange;
  arguments?: string;
  containment?: string;
  rules: string[];
}

export interface PermissionTarget {
  kind: string;
  path?: string;
  access?: string;
  exists?: boolean;
  command?: string;
  argv?: string[];
  cwd?: string;
  confinedBy?: string;
  url?: string;
  host?: string;
  port?: number;
  method?: string;
  inSandbox?: boolean;
}

export interface PermissionChange {
  path: string;
  kind: string;
  hunks: PermissionHunk[];
  hunkCount: number;
  removedLines: number;
  addedLines: number;
  beforeBytes: number | null;
  afterBytes: number | null;
  isWhole: boolean;
  isCounted: boolean;
  inSandbox: boolean;
}

export interface PermissionHunk {
  startLine: number;
  before: string;
  after: string;
}

export interface RequestPermissionResult {
  outcome: "once" | "session" | "always" | "no" | "dismissed";
  reason?: string;
}

export interface AskUserParams {
  dialogId: string;
  header?: string;
  text: string;
  options: UserOption[];
  multiSelect: boolean;
  freeText: boolean;
}

export interface UserOption {
  label: string;
  description?: string;
}

export interface AskUserResult {
  outcome: "answered" | "dismissed";
  values?: string[];
}
