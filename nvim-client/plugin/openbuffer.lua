if vim.g.loaded_openbuffer then
  return
end
vim.g.loaded_openbuffer = true

vim.api.nvim_create_user_command('Openbuffer', function(command)
  require('openbuffer.command').run(command.args)
end, {
  nargs = '*',
  desc = 'Agent tools that see and change what is in the buffers',
  complete = function(...)
    return require('openbuffer.command').complete(...)
  end,
})
