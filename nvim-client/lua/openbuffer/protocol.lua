--- Names and forms of what openbuffer adds to LSP. `bridge/PROTOCOL.md` is the reference.
local M = {}

--- The version of PROTOCOL.md that this client speaks.
M.VERSION = 1

M.LIST_TOOLS = 'openbuffer/listTools'
M.CALL_TOOL = 'openbuffer/callTool'

M.READ_DOCUMENT = 'openbuffer/readDocument'
M.APPLY_EDIT = 'openbuffer/applyEdit'
M.SAVE_DOCUMENT = 'openbuffer/saveDocument'
M.RELOAD_DOCUMENT = 'openbuffer/reloadDocument'
M.WITHDRAW_DIALOG = 'openbuffer/withdrawDialog'
M.REQUEST_PERMISSION = 'openbuffer/requestPermission'
M.ASK_USER = 'openbuffer/askUser'
M.TOOLS_CHANGED = 'openbuffer/toolsChanged'

--- What is announced under `capabilities.experimental.openbuffer`.
---@type table<string, boolean|integer>
M.CAPABILITIES = {
  protocolVersion = M.VERSION,
  readDocument = true,
  applyEdit = true,
  saveDocument = true,
  reloadDocument = true,
  withdrawDialog = true,
  requestPermission = true,
  askUser = true,
  toolsChanged = true,
}

---@class openbuffer.DocumentState
---@field version integer
---@field textHash string
---@field dirty boolean
---@field text? string

---@class openbuffer.DocumentActionResult
---@field done boolean
---@field reason? string
---@field document? openbuffer.DocumentState|vim.NIL

---@class openbuffer.WireDocument
---@field uri string
---@field version? integer

---@class openbuffer.ReadDocumentParams
---@field textDocument openbuffer.WireDocument
---@field includeText? boolean

---@class openbuffer.ApplyEditParams
---@field textDocument openbuffer.WireDocument
---@field textHash string
---@field edits lsp.TextEdit[]
---@field label string
---@field dialogId string

---@class openbuffer.SaveDocumentParams
---@field textDocument openbuffer.WireDocument
---@field textHash string
---@field diskHash string|vim.NIL
---@field dialogId string

---@class openbuffer.PermissionTarget
---@field kind 'file'|'command'|'url'
---@field path? string
---@field command? string
---@field cwd? string
---@field url? string

---@class openbuffer.PermissionHunk
---@field startLine integer
---@field before string
---@field after string

---@class openbuffer.PermissionChange
---@field path string
---@field kind 'file'|'link'|'directory'
---@field hunks openbuffer.PermissionHunk[]
---@field hunkCount integer
---@field isWhole boolean

---@class openbuffer.RequestPermissionParams
---@field dialogId string
---@field message string
---@field tool string
---@field reason string
---@field targets openbuffer.PermissionTarget[]
---@field change? openbuffer.PermissionChange
---@field rules string[]

---@class openbuffer.PermissionAnswer
---@field outcome 'once'|'session'|'always'|'no'|'dismissed'
---@field reason? string

---@class openbuffer.UserOption
---@field label string
---@field description? string

---@class openbuffer.AskUserParams
---@field dialogId string
---@field header? string
---@field text string
---@field options openbuffer.UserOption[]
---@field multiSelect boolean
---@field freeText boolean

---@class openbuffer.QuestionAnswer
---@field outcome 'answered'|'dismissed'
---@field values? string[]

return M
