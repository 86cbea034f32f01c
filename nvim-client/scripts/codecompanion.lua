local openbuffer = require("openbuffer")

local function tell(self, text, meta)
  meta.tools.chat:add_tool_output(self, table.concat(vim.iter(text):flatten():totable(), "\n"))
end

local function tool_of(description)
  return {
    name = description.name,
    cmds = {
      function(_, arguments, options)
        openbuffer.call(description.name, arguments, function(failed, result)
          local is_done = not failed and not result.isError
          local text = failed or openbuffer.text_of(result)
          options.output_cb({ status = is_done and "success" or "error", data = text })
        end)
      end,
    },
    schema = {
      type = "function",
      ["function"] = {
        name = description.name,
        description = description.description,
        parameters = description.inputSchema,
      },
    },
    output = { success = tell, error = tell },
  }
end

local tools, names = {}, {}
for _, description in ipairs(openbuffer.tools_sync({ timeout_ms = 10000 }) or {}) do
  names[#names + 1] = description.name
  tools[description.name] = {
    description = description.name .. " of openbuffer",
    callback = function()
      return tool_of(description)
    end,
  }
end
tools.groups = { openbuffer = { description = "The tools of openbuffer", tools = names } }

require("codecompanion").setup({ interactions = { chat = { tools = tools } } })
